"""The exception for errors that a user can fix."""


class EaseError(ValueError):
    """An error in the input or the options.

    The message names the file, row or parameter, what is wrong and what to do. The command line prints only the
    message, without a traceback. The class is a `ValueError` so that Pydantic validators may raise it.
    """
