"""Mistakes of the user: shown as one message without a traceback; the exit code is 2."""


class UserError(Exception):
    """Something that the user can mend; the message says what, where and how."""
