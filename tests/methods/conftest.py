"""The files of a tiny real training and jobs on them, for the methods that train on texts."""

from tests.training.conftest import files, make_job

__all__ = ["files", "make_job"]
