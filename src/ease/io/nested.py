"""Moved to `ease.io.models`."""

from ease.io.models import dotted as dotted
from ease.io.models import overlaid as overlaid
