"""Locate or download the evaluation sets of the tasks."""
