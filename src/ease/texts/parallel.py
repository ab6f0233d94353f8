"""Training texts from parallel sentences: the positive is a translation, or another sentence of the other language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import pyarrow as pa
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.io.text_tables import Column, read_parallel_lines
from ease.texts.columns import kept_rows, read_columns
from ease.texts.components.mixture import (
    Source,
    SourceOptions,
    Workspace,
    check_languages,
    column_names,
    file_kind,
    random_pairs,
    read_fields,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

NAMES = ("sentence", "positive")
FACTS = ("fact_id", "language", "text")
"""Columns of a table with each fact in several languages."""

_PAIRS = pa.schema([("key", pa.int64()), ("sentence", pa.string()), ("positive", pa.string())])
_STATEMENTS = pa.schema([("key", pa.int64()), *((name, pa.string()) for name in FACTS)])


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
    translations = _read_translations(options, workspace)
    kept = translations.table
    counts = {**translations.counts, "skipped": options.skip} if options.skip else translations.counts
    if options.form == "following":
        kept = _following(kept)
    elif options.form == "shuffled":
        kept = random_pairs(kept, seed, draws=(0, 1))
    return Source(kept, counts)


def _read_translations(options: Options, workspace: Workspace) -> Source:
    if options.paths is not None:
        counts = Counter({"read": 0, "blank": 0})
        lines = islice(read_parallel_lines(options.paths), options.skip, None)
        table = workspace.store(kept_rows(lines, counts, NAMES), _PAIRS)
        return Source(table, counts)
    assert options.path is not None
    if _states_facts(options.path, options.columns):
        if options.form != "translations":
            raise EaseError(
                f"{options.path} states facts, which have no order across languages: `form` {options.form!r} needs two "
                "columns or two parallel line files."
            )
        return _read_facts(options.path, options, workspace)
    return read_columns(options.path, NAMES, options.columns, workspace, options.skip)


def _following(table: ir.Table) -> ir.Table:
    """Pair the sentence of each line with the positive of the next line, if neither line was dropped."""
    nexts = table.select(key=table.key - 1, positive="positive")
    return table.select("key", "sentence").inner_join(nexts, "key").select("key", "sentence", "positive")


def _states_facts(path: Path, columns: Sequence[Column]) -> bool:
    return "fact_id" not in columns and file_kind(path) == "tsv" and column_names(path) == FACTS


def _read_facts(path: Path, options: Options, workspace: Workspace) -> Source:
    """Pair each fact in the pivot language with the same fact in every other language."""
    counts = Counter({"read": 0, "blank": 0})
    fields = islice(read_fields(path, FACTS), options.skip, None)
    statements = workspace.store(kept_rows(fields, counts, FACTS), _STATEMENTS)
    check_languages(statements.language, (options.pivot, *(options.languages or ())), path)
    others = statements.filter(statements.language != options.pivot)
    if options.languages:
        others = others.filter(others.language.isin(list(options.languages)))
    return Source(_paired(statements.filter(statements.language == options.pivot), others), counts)


def _paired(pivots: ir.Table, others: ir.Table) -> ir.Table:
    sentences = pivots.select("fact_id", sentence=ibis._.text)
    joined = others.select("key", "fact_id", positive=ibis._.text).inner_join(sentences, "fact_id")
    return joined.select("key", "sentence", "positive")
