"""Encoders: loading, pooling, tokenizers, word vectors, whitening, encoding with a cache, and model cards."""
