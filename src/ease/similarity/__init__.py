"""Sentence embeddings compared with each other: cosines, nearest neighbours, retrieval, correlation with grades."""
