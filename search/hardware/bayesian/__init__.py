"""Multi-objective Bayesian optimization over designs whose area, TDP and bounds are exact.

``mobo.py`` is the default optimizer; ``candidate_pool.py`` and ``encoding.py`` are what it scores,
``monte_carlo.py`` its acquisition functions by sampling. ``black_box.py`` is plain BoTorch and
``greedy_bound.py`` uses no model: both to compare with.
"""
