"""Options of `publish`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ease.encoders.options import Form
from ease.io.models import StrictModel


class PublishOptions(StrictModel):
    """What is published, in which forms, and where to."""

    what: Literal["model", "mewsc16"] = Field("model", description="an encoder, or the data set MewsC-16")
    setting: str = Field(description="setting of the encoder; chosen by --params alone")
    method: str = Field(description="method of the encoder; chosen by --params alone")
    to: Path | None = Field(
        None, description="folder to write, in place of an older one; null: `published/SETTING.METHOD`"
    )
    forms: tuple[Form, ...] = Field((), description="forms beside that of sentence-transformers")
    check_sentences: int = Field(
        ge=1, description="training sentences on which each form is compared with torch"
    )
    seed: int = Field(description="seed of the drawn sentences")
    repository: str | None = Field(None, description="OWNER/NAME to push to; the token is that of HF_TOKEN")
    endpoint: str | None = Field(None, description="address of the hub; null: HF_ENDPOINT, or huggingface.co")
    private: bool = Field(True, description="whether a new repository is private")
    alias: str | None = Field(None, description="alias of the encoder's version in MLflow's registry")

    @property
    def folder(self) -> Path:
        """The folder to write."""
        name = f"{self.setting}.{self.method}" if self.what == "model" else self.what
        return self.to or Path("published", name)
