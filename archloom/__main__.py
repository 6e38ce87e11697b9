"""``python -m archloom``: the command line."""

from archloom.studies.commands.cli import main

if __name__ == "__main__":
    main()
