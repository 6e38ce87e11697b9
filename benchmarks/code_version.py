"""Version of the code that makes a file of results."""

import subprocess
from importlib.metadata import version
from pathlib import Path


def code_version() -> str:
    """Return the version of archloom with the commit of this checkout, if it is one.

    Versions in between have the same number, and found other costs.
    """
    describe = ["describe", "--always", "--dirty", "--exclude=*", "--abbrev=8"]
    try:
        asked = ["git", "-C", str(Path(__file__).parent), *describe]
        commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return version("archloom")
    return f"{version('archloom')} at {commit}"
