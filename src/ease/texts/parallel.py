"""Training texts from parallel sentences: the positive is a translation, or another sentence in the other language."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.io.text_tables import Column, read_parallel_lines
from ease.lazy import ir
from ease.texts.components.sources import (
    SourceOptions,
    SourceTexts,
    Workspace,
    check_distinct,
    check_file_languages,
    column_names,
    file_kind,
    random_pairs,
    read_text_fields,
    store_texts,
)

PARALLEL_COLUMNS = ("sentence", "positive")
FACT_TABLE_COLUMNS = ("fact_id", "language", "text")
"""Columns of a table with each fact in several languages."""


class ParallelTextOptions(SourceOptions):
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
    def _check_paths(self) -> ParallelTextOptions:
        if (self.path is None) is (self.paths is None):
            raise EaseError("Parallel sentences need `path` or `paths`: give one of the two.")
        check_distinct(self.columns)
        if self.paths is not None:
            check_distinct(self.paths)
        return self

    @property
    def places(self) -> tuple[Path, ...]:
        """The table or the two files."""
        if self.path is not None:
            return (self.path,)
        return self.paths or ()

    def read(self, workspace: Workspace, seed: int) -> SourceTexts:
        """Return every pair in the chosen form; pairs with a blank sentence are dropped and counted."""
        if self.path is not None and self._has_facts(self.path):
            if self.form != "translations":
                raise EaseError(
                    f"{self.path} states facts, which have no order across languages: `form` {self.form!r} needs two "
                    "columns or two parallel line files."
                )
            facts = store_texts(
                islice(read_text_fields(self.path, FACT_TABLE_COLUMNS), self.skip, None), FACT_TABLE_COLUMNS, workspace
            )
            table = self._join_facts(facts.table, self.path)
            counts = facts.counts
        else:
            pairs = store_texts(islice(self._read_pairs(), self.skip, None), PARALLEL_COLUMNS, workspace)
            table = self._arrange(pairs.table, seed)
            counts = pairs.counts
        if self.skip:
            counts = {**counts, "skipped": self.skip}
        return SourceTexts(table, counts)

    def _has_facts(self, path: Path) -> bool:
        """Whether a table has the columns of `FACT_TABLE_COLUMNS`, and its own `columns` do not say otherwise."""
        if "fact_id" in self.columns or file_kind(path) != "tsv":
            return False
        return column_names(path) == FACT_TABLE_COLUMNS

    def _read_pairs(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield (number, both sentences) for each row of the table or of the parallel files."""
        if self.path is None:
            return read_parallel_lines(self.places)
        return read_text_fields(self.path, self.columns)

    def _join_facts(self, facts: ir.Table, path: Path) -> ir.Table:
        """Return the pivot language's text of each fact with its text in each other language."""
        check_file_languages(facts.language, (self.pivot, *(self.languages or ())), path)
        translations = facts.filter(facts.language != self.pivot)
        if self.languages:
            translations = translations.filter(translations.language.isin(list(self.languages)))
        pivots = facts.filter(facts.language == self.pivot).select("fact_id", sentence="text")
        joined = translations.select("key", "fact_id", positive="text").inner_join(pivots, "fact_id")
        return joined.select("key", "sentence", "positive")

    def _arrange(self, pairs: ir.Table, seed: int) -> ir.Table:
        """Return the pairs in the chosen form."""
        if self.form == "following":
            # Keys are line numbers: the join drops a line whose next line was dropped.
            following = pairs.select(key=pairs.key - 1, positive="positive")
            joined = pairs.select("key", "sentence").inner_join(following, "key")
            return joined.select("key", "sentence", "positive")
        if self.form == "shuffled":
            return random_pairs(pairs, seed, draws=(0, 1))
        return pairs
