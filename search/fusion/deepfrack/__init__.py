"""DeepFrack's planner: stacks of layers in tiles of a face, with cached weights.

``planner.py`` chooses stacks; ``stack.py`` and ``tile_benchmark.py`` cost them,
``face_tiling.py``, ``guillotine.py`` and ``knapsack.py`` find tiles and cached weights exactly.
"""
