"""Parallel sentences mined among candidates by any encoder."""
