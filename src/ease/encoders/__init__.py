"""Encoders: loading, pooling, tokenizers, word vectors, whitening, encoding with a cache, scoring and model cards."""
