"""Optimus' planner: dynamic programming over partitions (Cai et al., ACM TECS 22(1), 2022).

``partition_dp.py`` is the exact algorithm, ``planner.py`` applies it to Optimus' cost.
"""
