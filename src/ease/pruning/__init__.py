"""Removal of old versions, unused parsed parts and other leftovers from the data folder."""
