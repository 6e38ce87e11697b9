"""Online rules."""
