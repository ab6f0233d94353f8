"""Moved to `ease.io.files`."""

from ease.io.files import read_data_file as read_data_file
