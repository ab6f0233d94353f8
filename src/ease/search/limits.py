"""Default limits of a search; the command line reads them before it imports anything large."""

MEMORY = 1_024
"""Memory limit in megabytes."""
EXACT_LIMIT = 1_000_000
"""Sentences up to which a search compares all of them."""
