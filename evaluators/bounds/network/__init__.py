"""Lower bounds on what a network costs, whatever the mappings.

``plans.py`` has them layer by layer and under any fusion plan, ``two_engines.py`` for the array and
the pins of a chip apart; ``work.py`` counts the distinct layers that both are made of,
``whole_steps.py`` the steps of those that run whole, and ``joint_levels.py``
(``crossing_words.py``) their energy on all levels together.
"""
