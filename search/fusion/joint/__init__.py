"""The joint planner: groups, tiles, halos, resident weights and pinned maps at once.

``planner.py`` first; a plan is a path (``shortest_path.py``) through cuts of the network
(``cuts``), whose steps are chosen among the options of ``options.py`` and, on chips of
several cores, ``multicore_options.py``; ``option_table.py`` estimates and costs them.
"""
