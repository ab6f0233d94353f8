"""Options of the sample, and the folder that it is written to once."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import babel
from pydantic import BaseModel, Field

from ease.errors import EaseError
from ease.io.atomic import atomic_shared_folder
from ease.io.files import report_write_errors
from ease.io.locks import remove_abandoned_scratch
from ease.options import StrictModel
from ease.wikimedia.languages import check_languages

logger = logging.getLogger(__name__)

SAMPLE_LANGUAGES = tuple(sorted(file.stem for file in Path(__file__).with_name("templates").glob("*.yml")))
"""The languages of the sample wiki."""


class SampleOptions(StrictModel):
    """Size and seed of the sample wiki; the same options give the same bytes."""

    seed: int = Field(default=0, ge=0, description="seed of facts, templates and page layouts")
    territories: int = Field(
        243,
        ge=22,
        le=243,
        description="territories to write about, chosen in turn from the UN's regions; their currencies, languages, "
        "scripts and regions are added, so this number determines the number of entities",
    )
    sentences_per_language: int = Field(
        2400, ge=50, le=200_000, description="sentences in each wiki's articles, at least one per article"
    )
    parallel_facts: int = Field(
        default=300, ge=1, description="facts held out of the dumps and worded in every language"
    )
    graded_pairs: int = Field(
        default=300, ge=6, description="held-out English sentence pairs with a similarity score of 0 to 5"
    )
    graded_territories: int = Field(
        default=40, ge=6, description="territories whose held-out facts the graded pairs are about"
    )
    layout: Literal["articles", "content"] = Field(
        default="articles",
        description="articles dumps, or content exports of all namespaces in several files; the same rows",
    )


class SampleNewsOptions(StrictModel):
    """Size and seed of the sample Wikinews; the same options give the same bytes."""

    seed: int = Field(default=0, ge=0, description="seed of the stories and page layouts")
    news_per_language: int = Field(
        default=150,
        ge=60,
        le=10_000,
        description="articles in each wiki, including those that a reader must drop; below 150, fewer classes have "
        "ten pages",
    )


def generate_folder(
    parent: Path,
    name: str,
    languages: Sequence[str],
    available: Sequence[str],
    options: BaseModel,
    version: int,
    write: Callable[[Path], None],
) -> Path:
    """Return a folder of generated files; write the files unless the folder exists.

    The folder's name ends with a hash of everything that the files depend on. `write` gets an empty folder. `available`
    are the languages that have templates, `version` is the version of the generating code.

    Raises:
        EaseError: A language has no templates, or the folder is not writable.
    """
    check_languages(languages)
    if missing := [language for language in languages if language not in available]:
        raise EaseError(
            f"The {name} has no templates for {', '.join(missing)}: choose from {', '.join(available)}, or use your "
            "own dumps."
        )
    # CLDR's names and facts come with Babel, so another version gives other files.
    content = {"languages": sorted(languages), "options": options.model_dump(), "babel": babel.__version__}
    digest = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=6).hexdigest()
    folder = parent / f"{name}-{version}-{digest}"
    if not folder.exists():
        with report_write_errors(parent):
            remove_abandoned_scratch(parent)
            with atomic_shared_folder(folder) as scratch:
                write(scratch)
        logger.info("Wrote the %s in %d languages to %s", name, len(languages), folder)
    return folder
