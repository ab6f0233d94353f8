"""Analyses of embeddings, one subject a file: beside how well an encoder scores, what its space looks like."""
