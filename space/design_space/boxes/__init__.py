"""Boxes of a design space: a run of values for each parameter, with all that they leave open.

``interval.py`` evaluates expressions over runs of values, ``box.py`` cuts boxes, and
``structure.py`` has the hardware that all designs of a box have in common.
"""
