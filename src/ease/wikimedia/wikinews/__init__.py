"""Wikinews: the MewsC-16 clustering set."""
