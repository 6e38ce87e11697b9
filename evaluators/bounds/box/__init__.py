"""What all designs of a box have at least: the best hardware that it could be, area and power.

Read ``relaxation.py``; ``parts.py`` has each part of a chip for itself.
"""
