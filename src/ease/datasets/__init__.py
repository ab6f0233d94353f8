"""Kedro datasets that kedro-datasets lacks."""
