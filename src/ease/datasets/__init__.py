"""Kedro datasets that kedro-datasets does not provide."""
