"""Weaving schedulers."""
