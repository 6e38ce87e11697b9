"""Simulators beside Archloom: what they are asked, and how they run where they are installed.

``record_simulators.py`` beside this package is the script. ``asking.py`` runs a simulator in an
interpreter of its own; ``scale_sim_run.py``, ``zigzag_run.py`` and ``stream_run.py``, each with
``answering.py`` behind it, are what such interpreters run, and import nothing of Archloom;
``requests.py`` lists what they are asked.
"""
