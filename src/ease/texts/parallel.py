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
    paths: tuple[Path, Path] | None = Field(
        None, description="two parallel line files, as OPUS publishes them"
    )
    columns: tuple[Column, Column] = Field(
        (1, 2), description="columns of a table, by name, or by number from 1"
    )
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
    """Return every pair with two sentences, in the chosen form; the others are dropped and counted.

    Raises:
        EaseError: If the files differ in their number of lines, a language is missing, or facts are not to be paired
            as translations.
    """
    table, counts = _read_translations(options, workspace)
    if options.form == "following":  # unless one of the two lines was dropped
        nexts = table.select(key=table.key - 1, positive="positive")
        table = table.select("key", "sentence").inner_join(nexts, "key").select("key", "sentence", "positive")
    elif options.form == "shuffled":
        table = random_pairs(table, seed, draws=(0, 1))
    return Source(table, {**counts, "skipped": options.skip} if options.skip else counts)


def _read_translations(options: Options, workspace: Workspace) -> Source:
    path = options.path
    if path is None:
        lines = read_parallel_lines(options.places)
        return store_texts(islice(lines, options.skip, None), NAMES, workspace)
    if "fact_id" not in options.columns and file_kind(path) == "tsv" and column_names(path) == FACTS:
        if options.form != "translations":
            raise EaseError(
                f"{path} states facts, which have no order across languages: `form` {options.form!r} needs two "
                "columns or two parallel line files."
            )
        return _read_facts(path, options, workspace)
    return store_texts(islice(read_fields(path, options.columns), options.skip, None), NAMES, workspace)


def _read_facts(path: Path, options: Options, workspace: Workspace) -> Source:
    """Pair each fact in the pivot language with the same fact in every other language."""
    statements, counts = store_texts(islice(read_fields(path, FACTS), options.skip, None), FACTS, workspace)
    check_languages(statements.language, (options.pivot, *(options.languages or ())), path)
    others = statements.filter(statements.language != options.pivot)
    if options.languages:
        others = others.filter(others.language.isin(list(options.languages)))
    pivots = statements.filter(statements.language == options.pivot).select("fact_id", sentence="text")
    joined = others.select("key", "fact_id", positive="text").inner_join(pivots, "fact_id")
    return Source(joined.select("key", "sentence", "positive"), counts)
