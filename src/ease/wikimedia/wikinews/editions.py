"""The two editions of MewsC-16: the paper's, and a cleaned one with splits and metadata for publishing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from ease.errors import EaseError
from ease.wikimedia.dumps.parts import Counts
from ease.wikimedia.wikinews.cleaning import clean
from ease.wikimedia.wikinews.files import (
    NewsSource,
    with_licences,
    without_small_classes,
    write_card,
    write_language,
)
from ease.wikimedia.wikinews.licences import UNKNOWN
from ease.wikimedia.wikinews.options import NewsOptions
from ease.wikimedia.wikinews.splits import write_splits


def finish_folder(
    folder: Path, counts: Mapping[str, Counts], options: NewsOptions, source: NewsSource
) -> None:
    """Write the card beside the languages' files.

    Raises:
        EaseError: Nothing is left in any language, or a licence is not known and the data set is for publishing.
    """
    if not any(found["sentences"] for found in counts.values()):
        raise EaseError(
            "No Wikinews page is left in any language: check `topics` against the dumps, or lower "
            f"`min_class_size` ({options.min_class_size})."
        )
    unknown = {
        language: found["licences"][UNKNOWN]
        for language, found in counts.items()
        if UNKNOWN in found["licences"]
    }
    if unknown and options.for_publishing:
        rows = ", ".join(f"{language}: {number}" for language, number in unknown.items())
        raise EaseError(
            f"The licence of some sentences is not known ({rows}), so they cannot be published: make the data set from "
            "dumps, or set `for_publishing` to false for your own use."
        )
    write_card(folder, counts, options.min_class_size, source, options.edition)


def finish_language(
    folder: Path, language: str, table: pa.Table, options: NewsOptions, source: NewsSource
) -> Counts:
    """Clean a language's rows where the edition says so, and write its files.

    Args:
        folder: The data set's folder.
        language: Wikinews' code.
        table: Rows with the columns `READ`.
        options: Edition, least size of a class, and splits.
        source: Source and licence of the rows.

    Returns:
        `sentences`, `classes` and `dropped_classes` (rows by topic), `removed` (rows by reason), `licences` (rows by
        licence), and `splits` (rows by split).
    """
    removed = Counter[str]()
    if options.edition == "clean":
        table, removed = clean(table, language, options.cleaning)
    table, dropped = without_small_classes(with_licences(table, language, source), options.min_class_size)
    written = write_language(folder, language, table, dropped)
    splits = write_splits(folder, language, table, options.splits) if options.edition == "clean" else {}
    return {
        "sentences": table.num_rows,
        "classes": written.classes,
        "dropped_classes": written.dropped,
        "removed": {**removed, "small_class": sum(written.dropped.values())},
        "licences": written.licences,
        "splits": splits,
    }
