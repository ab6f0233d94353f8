"""Moved to `ease.io.models`."""

from ease.io.models import RENAMED as RENAMED
from ease.io.models import format_validation_error as format_validation_error
