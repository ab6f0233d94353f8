"""Moved to `ease.io.files`."""

from ease.io.files import make_or as make_or
from ease.io.files import read_globals as read_globals
