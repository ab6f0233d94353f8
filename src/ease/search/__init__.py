"""Search in the sentences of a project: index, entities of a text, reasons, command line and page."""

MEMORY = 1_024
"""Memory limit of a search in megabytes"""
EXACT_LIMIT = 1_000_000
"""Sentences up to which a search compares all of them"""
