"""Studies: config, engine, storage, reports and the command line.

Read :mod:`.config` (the study file), :mod:`.engine` (the loop, in ``loop.py``) and :mod:`.storage`
(a study's directory, its only memory); ``docs/explanation/one_trial.md`` follows one trial through
all of them.
:mod:`.analysis` reads results, :mod:`.rendering` shows them, :mod:`.solve` runs single searches
under a clock, :mod:`.commands` has the command line and a module for each command.
"""
