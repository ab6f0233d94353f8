"""Moved to `ease.io.names`."""

from ease.io.names import check_name as check_name
from ease.io.names import module_names as module_names
from ease.io.names import named_module as named_module
