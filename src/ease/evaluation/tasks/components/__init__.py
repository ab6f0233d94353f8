"""Readers and evaluation protocols that tasks share; tasks of your own may use them, too."""
