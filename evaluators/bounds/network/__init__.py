"""Lower bounds on what a network costs, whatever the mappings.

``plans.py`` has them layer by layer and under any fusion plan, ``two_engines.py`` for the array and
the pins of a chip apart; ``inside.py`` has what layers take inside the buffer, and ``work.py``
counts the distinct layers that all are made of, ``whole_steps.py`` the steps of those that run
whole, and ``joint_levels.py`` (``crossing_words.py``) their energy on all levels together.
``mesh`` has what is unrolled over a mesh of buffers, with energy and cycles together; ``maps``
those that cost any plan something.
"""
