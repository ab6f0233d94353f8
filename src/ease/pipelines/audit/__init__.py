"""Make a test set of sentence pairs from links alone."""
