"""Encoders: loading, pooling, tokenizers, word vectors, whitening, encoding with a cache, scoring and model cards."""

import os

# cuBLAS reads it at its first product, which may be long before a training run that is to be deterministic.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
