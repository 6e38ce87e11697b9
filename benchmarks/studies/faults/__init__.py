"""Faults that ``torture.py`` does to a running study, by what they hit.

``run.py`` has the study and its processes; each other module has a table of faults by name: what
it does is in the docstring of each.
"""
