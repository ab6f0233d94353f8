"""Training texts from parallel sentences: the positive is a translation, or another sentence of the other language."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.io.text_tables import Column, read_parallel_lines
from ease.texts.components.sources import (
    Source,
    SourceOptions,
    Workspace,
    check_languages,
    column_names,
    file_kind,
    random_pairs,
    read_fields,
    store_texts,
)

NAMES = ("sentence", "positive")
FACTS = ("fact_id", "language", "text")
"""Columns of a table with each fact in several languages."""


class Options(SourceOptions):
    """One file with two columns, two parallel files, or a table of facts by language."""

    title: ClassVar[str] = "Parallel sentences"

    path: Path | None = Field(None, description="a table: two columns, or fact_id, language and text")
    paths: tuple[Path, Path] | None = Field(None, description="two parallel line files, as OPUS publishes them")
    columns: tuple[Column, Column] = Field((1, 2), description="columns of a table, by name, or by number from 1")
    pivot: str = Field("en", description="language of the sentences, in a table of facts")
    languages: tuple[str, ...] | None = Field(
        None, min_length=1, description="languages of the positives, in a table of facts; null: all others"
    )

    form: Literal["translations", "following", "shuffled"] = Field(
        "translations",
        description="translations: each sentence with its translation. following: with the translation of the next "
        "line's sentence, which is related, not parallel. shuffled: with the translation of a random other sentence",
    )
    skip: int = Field(
        0,
        ge=0,
        description="first rows to skip, such as those that a development task reads; it reads the first distinct "
        "pairs without a blank side, so skip some more",
    )

    @model_validator(mode="after")
    def _one_form(self) -> Options:
        if (self.path is None) is (self.paths is None):
            raise EaseError("Parallel sentences need `path` or `paths`: give one of the two.")
        return self

    @property
    def places(self) -> tuple[Path, ...]:
        """The table or the two files."""
        return (self.path,) if self.path is not None else self.paths or ()


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Return every pair with two sentences, in the chosen form; the others are dropped and counted."""
    path = options.path
    named = path is None or "fact_id" in options.columns or file_kind(path) != "tsv"
    of_facts = path is not None and not named and column_names(path) == FACTS
    if of_facts and options.form != "translations":
        raise EaseError(
            f"{path} states facts, which have no order across languages: `form` {options.form!r} needs two columns or "
            "two parallel line files."
        )
    columns = FACTS if of_facts else options.columns
    rows = read_parallel_lines(options.places) if path is None else read_fields(path, columns)
    rows = islice(rows, options.skip, None)
    table, counts = store_texts(rows, FACTS if of_facts else NAMES, workspace)
    if of_facts and path is not None:
        check_languages(table.language, (options.pivot, *(options.languages or ())), path)
        others = table.filter(table.language != options.pivot)
        if options.languages:
            others = others.filter(others.language.isin(list(options.languages)))
        pivots = table.filter(table.language == options.pivot).select("fact_id", sentence="text")
        joined = others.select("key", "fact_id", positive="text").inner_join(pivots, "fact_id")
        table = joined.select("key", "sentence", "positive")
    elif options.form == "following":  # unless one of the two lines was dropped
        nexts = table.select(key=table.key - 1, positive="positive")
        table = table.select("key", "sentence").inner_join(nexts, "key").select("key", "sentence", "positive")
    elif options.form == "shuffled":
        table = random_pairs(table, seed, draws=(0, 1))
    return Source(table, {**counts, "skipped": options.skip} if options.skip else counts)
