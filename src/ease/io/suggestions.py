"""Moved to `ease.io.names`."""

from ease.io.names import nearest as nearest
from ease.io.names import suggest as suggest
