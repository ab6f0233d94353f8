"""Options of encoders: name, pooling, architecture, encoding and whitening. Does not import torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from ease.encoders.poolings import PoolingName
from ease.errors import EaseError
from ease.options import StrictModel

EncodingPrecision = Literal["fp32", "tf32", "bf16"]
"""Precision in which an encoder computes embeddings; fp32: that of its weights"""
Form = Literal["onnx", "onnx_int8", "openvino", "openvino_int8"]
"""Published forms of an encoder beside that of sentence-transformers"""

RANDOM = "random:"
"""Name of an encoder that is built with random weights."""


class RandomBertOptions(StrictModel):
    """Architecture of a BERT with random weights."""

    layers: int = Field(2, ge=1, description="transformer layers")
    hidden_size: int = Field(128, ge=1, description="dimension of tokens and sentences")
    heads: int = Field(4, ge=1, description="attention heads; divides the hidden size")
    intermediate_size: int = Field(512, ge=1, description="width of the feed-forward layers")
    vocabulary_size: int = Field(16_000, ge=300, description="maximum number of entries of the tokenizer")
    max_positions: int = Field(128, ge=8, description="maximum number of tokens of a sentence")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout of hidden states and attention")
    lowercase: bool = Field(False, description="whether the tokenizer folds case")
    tokenizer_sentences: int = Field(200_000, ge=1, description="maximum number of sentences to train the tokenizer on")

    @model_validator(mode="after")
    def _divide_heads(self) -> RandomBertOptions:
        if self.hidden_size % self.heads:
            raise EaseError(f"`hidden_size` {self.hidden_size} is not a multiple of `heads` {self.heads}.")
        return self


class EncoderOptions(StrictModel):
    """The encoder that training starts from."""

    name: str = Field(RANDOM, min_length=1, description="a transformer's hub name or folder, or `random:`")
    pooling: PoolingName | None = Field(
        None, description="null: as saved; `mean` if the encoder was saved without one, and for `random:`"
    )
    random: RandomBertOptions = Field(RandomBertOptions(), description="the architecture of `random:`")
    seed: int = Field(0, ge=0, description="seed of random weights")

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any) -> Any:
        """Accept a name instead of a group of options, and set the pooling of `random:`."""
        options = value
        if isinstance(value, str):
            options = {"name": value}
        if not isinstance(options, dict) or options.get("pooling") is not None:
            return options
        if str(options.get("name", RANDOM)).startswith(RANDOM):
            # There is no saved pooling to keep.
            return {**options, "pooling": "mean"}
        return options


class LoadingOptions(StrictModel):
    """How an encoder is loaded for evaluation; null: as it was saved, and as its file in `ease/encoders/known` says."""

    revision: str | None = Field(
        None, min_length=1, description="commit, branch or tag on the hub; null: the commit on this machine, or `main`"
    )
    pooling: PoolingName | None = Field(None, description="null: as the encoder was saved, or the mean")
    normalize: bool | None = Field(
        None, description="whether embeddings are scaled to length 1; null: as the encoder was saved"
    )
    dimension: int | None = Field(
        None, ge=1, description="first dimensions to keep (Matryoshka); null: as the encoder was saved"
    )
    precision: Literal["fp32", "bf16", "fp16"] | None = Field(
        None, description="precision of the weights; null: as the encoder was saved"
    )
    max_length: int | None = Field(
        None, ge=3, description="maximum number of tokens of a text; null: as the encoder was saved"
    )
    prompts: dict[str, str] = Field(
        {}, description="texts before a sentence, by name: `all`, `query`, `document`, a kind such as `STS`, or a task"
    )
    default_prompt: str | None = Field(
        None, description="name of the prompt of texts without another one; null: as the encoder was saved"
    )
    stop_words: bool = Field(False, description="whether averages of word vectors include stop words")


class EncodingOptions(StrictModel):
    """How sentences are encoded for evaluation."""

    batch_size: int | None = Field(
        None,
        ge=1,
        description="sentences encoded at once; null: as many as have 1,024 tokens on a CPU (in bf16 2,048), "
        "16,384 on a GPU (in TF32 or bf16 65,536)",
    )
    precision: Literal["auto", EncodingPrecision] = Field(
        "auto",
        description="fp32: as the weights are; tf32: fp32 on a CPU; bf16: faster on some devices "
        "(docs/evaluation.md); auto: bf16 on CPUs that multiply faster in it for encoders with 10 million weights in "
        "linear layers, else fp32",
    )
    cache: Path | None = Field(None, description="folder of the cache of embeddings; null: no cache")


class WhiteningOptions(StrictModel):
    """Training sentences and dimension of the whitening map."""

    rows: int | None = Field(None, ge=2, description="maximum number of distinct training sentences; null: all")
    dimension: int | None = Field(
        None, ge=1, description="components of the largest variance to keep; null: all that vary"
    )
    pooling: PoolingName | None = Field(None, description="pooling of the encoder to whiten; null: the setting's")
    seed: int = Field(0, ge=0, description="seed of the sample of sentences")


def check_rank(rank: int, *, languages: int | None = None, dimension: int | None = None) -> None:
    """Refuse a rank that is too high for the number of languages or the number of dimensions."""
    if languages is not None and rank > languages - 1:
        raise EaseError(
            f"Language subspace: rank {rank} is above {languages - 1}, the number of directions in which the means of "
            f"{languages} languages differ: lower the rank, or add languages."
        )
    if dimension is not None and rank >= dimension:
        raise EaseError(
            f"Language subspace: rank {rank} leaves nothing of {dimension} dimensions: set it below {dimension}."
        )


class RespellingOptions(StrictModel):
    """Search for the letters that an encoder does not know."""

    min_share: float = Field(
        0.001, gt=0, lt=1, description="minimum share of a letter in the language's text; rarer ones stay"
    )
    min_ratio: float = Field(
        4.0,
        gt=0,
        description="minimum ratio of a letter's share in the text to its share in the encoder's vocabulary, both "
        "among the letters of its script: letters that are as frequent there are known",
    )
    replacements: int = Field(
        72, ge=1, description="the most frequent letters of the vocabulary in the same script, which are tried"
    )
    min_pairs: int = Field(50, ge=2, description="minimum number of pairs of names; with fewer, nothing is learnt")
    max_pairs: int = Field(1500, ge=2, description="maximum number of pairs of names to learn from")
    min_gain: float = Field(
        3.0,
        gt=0,
        description="minimum mean gain of a replacement over its pairs, in standard errors: many are tried",
    )
