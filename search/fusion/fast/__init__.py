"""FAST's planner: an integer program says which tensors stay on chip (Zhang et al., ASPLOS 2022).

``model.py`` is the choice, ``coefficients.py`` its numbers, ``ilp.py`` the program as HiGHS solves
it and ``planner.py`` the planner around it.
"""
