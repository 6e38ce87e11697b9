"""Why a YAML file cannot be read, in one line."""

import yaml


def unreadable(error: Exception) -> str:
    """Return what to say after the file's name of an error that reading or parsing raised.

    Args:
        error: OSError, UnicodeDecodeError, yaml.YAMLError or RecursionError.
    """
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    if isinstance(error, UnicodeDecodeError):
        return f"is no text in UTF-8: {error}"
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        what = ", ".join(part for part in (error.context, error.problem) if part)
        return f"line {error.problem_mark.line + 1} is no YAML: {what}"
    return "is no YAML: " + " ".join(str(error).split())
