"""DeepFrack's planner: stacks of layers in tiles of a face, with cached weights.

``planner.py`` chooses stacks, by ``range_paths.py`` and ``range_scores.py``; ``stack.py`` and
``tile_benchmark.py`` cost them; ``face_tiling.py``, ``guillotine.py`` and ``knapsack.py`` find
tiles and cached weights exactly. ``ranges.py``, ``extents.py`` and ``tile_sets.py`` have what
follows from the network alone.
"""
