"""Published encoders, one file each, with the values that training and evaluation need. Does not import torch.

The file's name is the last part of the encoder's name: `bge-m3.yml` is for `BAAI/bge-m3` and for a folder `bge-m3`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, model_validator

from ease.encoders.poolings import PoolingName
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
        None, description="name of the prompt before each sentence in training and evaluation; null: none"
    )
    training: dict[str, Any] = Field({}, description="parameters of the loop for all methods")
    methods: dict[str, MethodDefaults] = Field({}, description="overrides for single methods, by name")
    lora_targets: tuple[str, ...] = Field(description="names of the linear layers that LoRA adapts")
    memory: float = Field(gt=0, description="GPU memory of a training with these values, in GB (estimated)")
    sources: dict[str, str] = Field(description="source of each value, by the field's name")

    @model_validator(mode="after")
    def _complete(self) -> KnownEncoder:
        if self.default_prompt is not None and self.default_prompt not in self.prompts:
            raise EaseError(f"`default_prompt` {self.default_prompt!r} is not one of `prompts`.")
        return self


def known_names() -> list[str]:
    """Names of all files, sorted."""
    return sorted(file.stem for file in FILES.glob("*.yml"))


def last_part(name: str) -> str:
    """Return an encoder's name without its organisation or folder."""
    return name.rstrip("/").rpartition("/")[2]


@cache
def known_encoder(name: str) -> KnownEncoder | None:
    """Return the file of an encoder, a hub name or a folder; None if it has none."""
    file = FILES / f"{last_part(name)}.yml"
    if file.stem not in known_names():
        return None
    return validate(KnownEncoder, yaml.safe_load(file.read_text(encoding="utf-8")), str(file))


def file_defaults(name: str | None, method: str) -> dict[str, Any]:
    """Return the training parameters for a method from an encoder's file; empty without a file."""
    if (known := known_encoder(name or "")) is None:
        return {}
    own = known.methods.get(method, MethodDefaults())
    return {**known.training, **own.training, **own.options}


def complete_lora(lora: Mapping[str, Any] | None, name: str | None) -> dict[str, Any] | None:
    """Return the options of LoRA, with the layers of an encoder's file if none are given."""
    if lora is None:
        return None
    known = known_encoder(name or "")
    return {**lora, "targets": lora.get("targets") or (known.lora_targets if known else None)}


def language_model_like(config: Mapping[str, Any]) -> str | None:
    """Return the first known language model with the architecture of a `config.json`."""
    for name in known_names():
        known = known_encoder(name)
        if known and known.kind == "language_model" and known.architecture.items() <= config.items():
            return name
    return None
