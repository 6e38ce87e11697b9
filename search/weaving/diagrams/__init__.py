"""Decision diagrams."""
