"""Exported PyTorch programs, read into the neutral graph.

``reader.py`` is the whole way, ``operators.py`` the table of operators; torch itself is not
imported.
"""
