"""Bounds of layers on one mesh of private buffers: what is unrolled there decides energy and cycles
together (docs/explanation/bounds_proofs.md, lemma 20).

``unrollings.py`` lists what a mesh may unroll, ``private_tiles.py`` tiles of one of its buffers,
and ``corners.py`` what both cost.
"""
