"""The one exception for faults that a user can mend."""


class EaseError(ValueError):
    """A fault in the input or the options.

    The message names the file, row or parameter, says what was wrong and what to do about it. The command line
    prints it alone, without a traceback. It is a `ValueError` so that Pydantic validators may raise it.
    """
