"""The command line: ``cli.py`` declares it, with a module or package for each command.

``program.py`` is what the script calls. ``options.py`` makes commands of functions. What a command
needs is loaded when it is called.
"""
