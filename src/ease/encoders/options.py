"""Options of encoders: which one, its pooling, how it encodes and is whitened. Imports no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ease.encoders.poolings import PoolingName
from ease.errors import EaseError

RANDOM = "random:"
"""The name of an encoder that is made from its configuration instead of loaded."""


class RandomBertOptions(BaseModel):
    """Architecture of a small BERT that starts from random weights."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layers: int = Field(2, ge=1, description="transformer layers")
    hidden_size: int = Field(128, ge=1, description="dimension of tokens and sentences")
    heads: int = Field(2, ge=1, description="attention heads; divides the hidden size")
    intermediate_size: int = Field(512, ge=1, description="width of the feed-forward layers")
    vocabulary_size: int = Field(16_000, ge=300, description="entries of the trained tokenizer at most")
    max_positions: int = Field(128, ge=8, description="tokens of a sentence at most, special ones included")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout of hidden states and attention")
    lowercase: bool = Field(False, description="whether the tokenizer folds case")
    tokenizer_sentences: int = Field(200_000, ge=1, description="sentences to train the tokenizer on at most")

    @model_validator(mode="after")
    def _divide_heads(self) -> RandomBertOptions:
        if self.hidden_size % self.heads:
            raise EaseError(f"`hidden_size` {self.hidden_size} is no multiple of `heads` {self.heads}.")
        return self


class EncoderOptions(BaseModel):
    """Which encoder to start from, and how it pools tokens into a sentence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(
        RANDOM, min_length=1, description="a hub name, a folder, a file of word vectors, or `random:`"
    )
    pooling: PoolingName | None = Field(
        None,
        description="null: as the encoder was saved; the mean for one that says nothing, and for `random:`",
    )
    random: RandomBertOptions = Field(RandomBertOptions(), description="the architecture of `random:`")
    seed: int = Field(0, ge=0, description="of the random weights")

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any) -> Any:
        """Accept a name in place of the group of options, and give `random:` its pooling."""
        options = {"name": value} if isinstance(value, str) else value
        if not isinstance(options, dict) or options.get("pooling") is not None:
            return options
        made_here = str(options.get("name", RANDOM)).startswith(RANDOM)
        return {**options, "pooling": "mean"} if made_here else options


class EncodingOptions(BaseModel):
    """How sentences are encoded for evaluation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    batch_size: int | None = Field(
        None,
        ge=1,
        description="sentences encoded at once; null: 32 on a CPU, where padding costs, 256 on a GPU",
    )
    cache: Path | None = Field(
        None, description="folder that keeps embeddings by model and sentence; null: keep none"
    )


class WhiteningOptions(BaseModel):
    """What the map is fitted on, and what it keeps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: int | None = Field(ge=2, description="distinct training sentences to fit on at most; null: all")
    dimension: int | None = Field(
        ge=1, description="components to keep, those of the greatest variance; null: all that vary"
    )
    pooling: PoolingName | None = Field(
        description="of the encoder that is whitened; null: as the setting has it"
    )
    seed: int = Field(ge=0, description="of the drawn sentences")
