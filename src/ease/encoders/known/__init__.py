"""Published encoders, one file each, with the values that training and evaluation need. Does not import torch.

The file's name is the last part of the encoder's name: `bge-m3.yml` is for `BAAI/bge-m3`, and for folders that
`recognise` traces back to it by what is in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, model_validator

from ease.encoders.check import configuration_of, downloaded_commit, is_sentence_encoder, origins_of
from ease.encoders.options import RANDOM
from ease.encoders.poolings import PoolingName
from ease.encoders.prompts import OWN_PROMPT
from ease.errors import EaseError
from ease.options import StrictModel, validate

FILES = Path(__file__).parent


class MethodDefaults(StrictModel):
    """Defaults for parameters that are null in a recipe's `options` and `training`."""

    options: dict[str, Any] = Field({}, description="parameters of the method")
    training: dict[str, Any] = Field({}, description="parameters of the loop")


class KnownEncoder(StrictModel):
    """A published encoder."""

    name: str = Field(description="name on the Hugging Face hub")
    revision: str | None = Field(None, description="commit on the hub to which the values belong; null: any")
    kind: Literal["language_model", "sentence_encoder"] = Field(
        description="language_model: pretrained on tokens alone; sentence_encoder: its embeddings compare sentences"
    )
    architecture: dict[str, Any] = Field(description="values of its `config.json`")
    parameters: int = Field(ge=1, description="number of weights, including those of further layers")
    dimension: int = Field(ge=1, description="of its embeddings")
    max_tokens: int = Field(ge=1, description="longest text that it accepts, in tokens")
    pooling: PoolingName = Field(description="pooling of its authors")
    dense: bool = Field(False, description="whether Dense layers of its own follow the pooling")
    normalize: bool = Field(description="whether it normalises its embeddings to length 1")
    precision: Literal["fp32", "bf16"] = Field("fp32", description="precision of its published weights")
    prompts: dict[str, str] = Field({}, description="texts before a sentence, by name")
    default_prompt: str | None = Field(
        None,
        description="name of the prompt before each sentence, in training and in tasks of types without a prompt of "
        "their own; null: none",
    )
    temperature: float | None = Field(
        None, gt=0, description="τ of the contrastive loss that its authors trained it with; null: unknown"
    )
    training: dict[str, Any] = Field({}, description="parameters of the loop for all methods")
    methods: dict[str, MethodDefaults] = Field({}, description="overrides for single methods, by name")
    lora_targets: tuple[str, ...] = Field(description="names of the linear layers that LoRA adapts")
    memory: float = Field(gt=0, description="GPU memory of a training run with these values, in GB (estimated)")
    sources: dict[str, str] = Field(description="source of each value, by the field's name")

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{last_part(self.name)}.yml"

    @model_validator(mode="after")
    def _complete(self) -> KnownEncoder:
        if self.default_prompt is None:
            return self
        if self.default_prompt not in self.prompts:
            raise EaseError(f"`default_prompt` {self.default_prompt!r} is not one of `prompts`.")
        for kind in OWN_PROMPT:
            if kind not in self.prompts:
                raise EaseError(f"`default_prompt` needs a prompt of {kind}, empty unless the authors use one for it.")
        return self


def known_names() -> list[str]:
    """Names of all files, sorted."""
    return sorted(file.stem for file in FILES.glob("*.yml"))


def last_part(name: str) -> str:
    """Return an encoder's name without its organisation or folder."""
    return name.rstrip("/").rpartition("/")[2]


@cache
def known_encoder(name: str) -> KnownEncoder | None:
    """Return the file with the last part of a name; None if there is none."""
    file = FILES / f"{last_part(name)}.yml"
    if file.stem not in known_names():
        return None
    return validate(KnownEncoder, yaml.safe_load(file.read_text(encoding="utf-8")), str(file))


def names_of(encoder: str) -> list[str]:
    """Return the last parts of an encoder's name and of those of the encoders that it was made from."""
    return [last_part(origin) for origin in origins_of(encoder)]


def recognise(encoder: str) -> KnownEncoder | None:
    """Return the published encoder that a hub name or folder is, or was made from; None if it is not known.

    The first of these with a file counts: its hub name, its place in the hub's cache, the base model that its
    configuration or its card names, the commit that it was downloaded from, and for a language model also its
    architecture. Training parameters, pooling and prompts all follow this rule.
    """
    if encoder.startswith(RANDOM):
        return None
    names = names_of(encoder)
    # Renaming a folder must not change its embeddings.
    if Path(encoder).exists():
        names = names[1:]
    for name in names:
        file = known_encoder(name)
        if file is not None:
            return file
    commit = downloaded_commit(encoder)
    if commit is not None:
        for name in known_names():
            file = known_encoder(name)
            if file is not None and file.revision == commit:
                return file
    # Encoders of sentences differ from language models of their architecture in what suits them.
    if is_sentence_encoder(encoder):
        return None
    return _language_model_like(configuration_of(encoder))


def _language_model_like(config: Mapping[str, Any]) -> KnownEncoder | None:
    """Return the first known language model with the architecture of a `config.json`."""
    for name in known_names():
        file = known_encoder(name)
        if file and file.kind == "language_model" and file.architecture.items() <= config.items():
            return file
    return None
