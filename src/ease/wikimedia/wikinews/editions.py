"""The two editions of MewsC-16, the paper's and a cleaned one: options, licences, files, splits and the card."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jinja2 import StrictUndefined, Template
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter
from tqdm import tqdm

from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from ease.io.files import read_data_file
from ease.io.models import StrictModel
from ease.io.text_tables import read_parallel_lines
from ease.wikimedia.dumps.parts import Counts, IngestOptions
from ease.wikimedia.wikinews.cleaning import CleaningOptions, clean

logger = logging.getLogger(__name__)


UNKNOWN = "unknown"
"""The licence of a text without a known one; such a text is not published."""


class Licence(StrictModel):
    """A licence that holds for new text from a day on.

    Attributes:
        since: The first day.
        licence: Name on the hub, such as `cc-by-2.5`.
        certain: Whether the source names the licence and the day.
        source: Address of the decision.
    """

    since: date
    licence: str
    certain: bool
    source: str


_DATA = read_data_file("ease.wikimedia.wikinews", "licences.yml")
_ALL = TypeAdapter(list[Licence]).validate_python(_DATA["all"])
_OWN = TypeAdapter(dict[str, list[Licence]]).validate_python(_DATA["languages"])


def licence_history(language: str) -> list[Licence]:
    """Return the licences of a language's Wikinews, oldest first."""
    own = _OWN.get(language, [])
    return [licence for licence in _ALL if not own or licence.since < own[0].since] + own


def licence_in_force(history: Sequence[Licence], day: date | None) -> str:
    """Return the licence of text that was revised on a day; `unknown` before the first one or without a day."""
    past = [licence for licence in history if day is not None and licence.since <= day]
    return past[-1].licence if past else UNKNOWN


READ = pa.schema(
    [
        ("sentence", pa.string()),
        ("category", pa.string()),
        ("page_id", pa.int64()),
        ("title", pa.string()),
        ("revision_id", pa.int64()),
        ("revised", pa.date32()),
        ("date", pa.date32()),
        ("dump_date", pa.string()),
    ]
)
"""Columns that are read from a dump.

`category` is the topic in English; `revised` is the day of the last revision; `date` is the day in the article's own
date line, or null; `dump_date` is YYYYMMDD, or null if unknown.
"""

NEWS = READ.append(pa.field("licence", pa.string()))
"""Columns of the data set; `licence` is the hub's name of it, or `unknown`."""


class NewsSource(NamedTuple):
    """Name of the texts' source, their licence (None: by language and revision), and the attribution."""

    name: str
    licence: str | None
    attribution: str


WIKINEWS = NewsSource(**read_data_file("ease.wikimedia.wikinews", "source.yml"))


def read_parts(parts: Sequence[Path]) -> tuple[pa.Table, int]:
    """Return the rows of some parts sorted by page id, and the number of repeated pages.

    If two dump files have a page, the first file's is kept. One language's rows are held in memory as Arrow columns.
    """
    found = pa.concat_tables([READ.empty_table(), *(pq.read_table(part, schema=READ) for part in parts)])
    _, first = np.unique(found["page_id"].to_numpy(), return_index=True)
    return found.take(pa.array(first)), found.num_rows - len(first)


def _with_licences(table: pa.Table, language: str, source: NewsSource) -> pa.Table:
    """Add the licence of each row."""
    if source.licence is not None:
        licences = [source.licence] * table.num_rows
    else:
        history = licence_history(language)
        licences = [licence_in_force(history, day) for day in table["revised"].to_pylist()]
    return table.append_column(NEWS.field("licence"), pa.array(licences, pa.string()))


def _sizes(table: pa.Table, column: str) -> dict[str, int]:
    """Return the numbers of rows by value, sorted."""
    return dict(sorted((row["values"], row["counts"]) for row in table[column].value_counts().to_pylist()))


def _write_lines(path: Path, column: pa.ChunkedArray) -> None:
    path.write_text("".join(f"{line}\n" for line in column.to_pylist()), encoding="utf-8", newline="\n")


def _write_card(
    folder: Path, counts: Mapping[str, Mapping[str, Any]], options: NewsOptions, source: NewsSource
) -> None:
    """Write README.md: the hub's metadata, then content, method, statistics, sources and attribution."""
    written = {language: found for language, found in sorted(counts.items()) if found["sentences"]}
    card = Template(
        files(__package__).joinpath("card.md.j2").read_text(encoding="utf-8"),
        trim_blocks=True,
        undefined=StrictUndefined,
    ).render(
        counts=written,
        topics=sorted({topic for found in written.values() for topic in found["classes"]}),
        removed=sorted({reason for found in written.values() for reason in found["removed"]}),
        licences=sorted({licence for found in written.values() for licence in found["licences"]}),
        history={} if source.licence else {language: licence_history(language) for language in written},
        min_class_size=options.min_class_size,
        source=source,
        edition=options.edition,
    )
    (folder / "README.md").write_text(f"{card}\n", encoding="utf-8")


SMALL, EARLIER, RECENT = "small", "earlier", "recent"
SPLITS = (SMALL, EARLIER, RECENT)


class SplitOptions(StrictModel):
    """How a language of the edition `clean` is split."""

    small: int = Field(2048, ge=1, description="largest number of rows of the balanced split `small`")
    recent_since: date = Field(
        date(2022, 1, 1),
        description="first day of the split `recent`; older articles are in `earlier`, and articles whose date is "
        "not known in neither",
    )
    seed: int = Field(42, ge=0, description="seed of the split `small`")


def write_splits(folder: Path, language: str, table: pa.Table, options: SplitOptions) -> dict[str, int]:
    """Write `{language}_{split}.parquet` for the splits that have rows, and return their numbers of rows."""
    is_recent = pc.fill_null(pc.greater_equal(table["date"], options.recent_since), False)
    is_earlier = pc.fill_null(pc.less(table["date"], options.recent_since), False)
    splits = {
        SMALL: table.take(pa.array(balanced(table["category"].to_pylist(), options.small, options.seed))),
        EARLIER: table.filter(is_earlier),
        RECENT: table.filter(is_recent),
    }
    for name, rows in splits.items():
        if rows.num_rows:
            pq.write_table(rows, folder / f"{language}_{name}.parquet", compression="zstd")
    return {name: rows.num_rows for name, rows in splits.items() if rows.num_rows}


def balanced(labels: Sequence[str], limit: int, seed: int) -> NDArray[np.int64]:
    """Draw rows with classes of equal size as far as possible.

    Args:
        labels: Label of each row.
        limit: Largest number of rows.
        seed: Seed of the draw.

    Returns:
        The places of the drawn rows, ascending. Classes that are smaller than the others' share are complete.
    """
    names, classes, sizes = np.unique(np.asarray(labels, str), return_inverse=True, return_counts=True)
    shares, left = np.zeros(len(names), int), limit
    for done, place in enumerate(np.argsort(sizes, kind="stable")):
        shares[place] = min(sizes[place], left // (len(names) - done))
        left -= shares[place]
    random = np.random.default_rng(seed)
    drawn = [
        random.choice(np.flatnonzero(classes == place), share, replace=False)
        for place, share in enumerate(shares)
    ]
    return np.sort(np.concatenate([np.empty(0, np.int64), *drawn])).astype(np.int64)


class NewsOptions(IngestOptions):
    """How Wikinews dumps are read, and which pages are used."""

    min_class_size: int = Field(10, ge=1, description="a language's topics with fewer pages are dropped")
    topics: dict[str, dict[str, str]] = Field(
        min_length=1, description="name of each topic's category in each language"
    )
    category_redirects: tuple[str, ...] = Field(
        (), description="templates on a category's page that redirect it to another category"
    )
    shown_templates: tuple[str, ...] = Field(
        (), description="templates whose text is their second argument or else their first"
    )
    edition: Literal["paper", "clean"] = Field(
        "paper",
        description="paper: as appendix E describes it; clean: without repeated, cut and ambiguous sentences",
    )
    cleaning: CleaningOptions = Field(CleaningOptions(), description="what the edition `clean` removes")
    splits: SplitOptions = Field(SplitOptions(), description="splits of the edition `clean`")
    for_publishing: bool = Field(
        False, description="refuse to make a data set with texts whose licence is not known"
    )


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
    _write_card(folder, counts, options, source)


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
    dropped = {
        name: size for name, size in _sizes(table, "category").items() if size < options.min_class_size
    }
    table = table.filter(pc.invert(pc.is_in(table["category"], pa.array(dropped, pa.string()))))
    table = _with_licences(table, language, source)
    splits: dict[str, int] = {}
    if table.num_rows:
        pq.write_table(table, folder / f"{language}.parquet", compression="zstd")
        _write_lines(folder / f"{language}_sentences.txt", table["sentence"])
        _write_lines(folder / f"{language}_categories.txt", table["category"])
    if options.edition == "clean":
        splits = write_splits(folder, language, table, options.splits)
    return {
        "sentences": table.num_rows,
        "classes": _sizes(table, "category"),
        "dropped_classes": dropped,
        "removed": {**removed, "small_class": sum(dropped.values())},
        "licences": _sizes(table, "licence"),
        "splits": splits,
    }


RELEASED = NewsSource(
    "the published MewsC-16",
    UNKNOWN,
    "The text is by the authors of Wikinews. The published files name neither articles nor revisions, so the licence "
    "of a sentence is not known: Wikinews used several versions of Creative Commons Attribution.",
)
_SENTENCES = re.compile(r"(?P<language>[a-z-]+)_sentences\.txt")


def clean_released(
    folder: Path, options: NewsOptions, target: Path, languages: Sequence[str] | None = None
) -> dict[str, Counts]:
    """Write the edition `clean` of published files.

    Args:
        folder: Has two text files for each language.
        options: What is removed, and the splits.
        target: Folder of the cleaned data set, written atomically.
        languages: Those to clean, of which the folder may lack some. Default: all of the folder.

    Returns:
        For each language what `finish_language` returns; the labels are those of the files.

    Raises:
        EaseError: The folder has no such files, two files do not fit each other, or nothing is left.
    """
    options = options.model_copy(update={"edition": "clean"})
    chosen = _chosen(folder, languages)
    counts: dict[str, Counts] = {}
    with atomic_folder(target) as aside:
        for language in tqdm(chosen, desc="cleaning MewsC-16", unit="language", disable=None):
            table = _read(folder, language)
            found = finish_language(aside, language, table, options, RELEASED)
            removed = ", ".join(f"{number} {reason}" for reason, number in found["removed"].items() if number)
            message = "%s: %d of %d sentences stay; removed: %s"
            logger.info(message, language, found["sentences"], table.num_rows, removed or "none")
            counts[language] = {**found, "pages": table.num_rows, "dumps": []}
        finish_folder(aside, counts, options, RELEASED)
    return counts


def _chosen(folder: Path, languages: Sequence[str] | None) -> list[str]:
    """Return the languages of a folder that are to be cleaned."""
    found = sorted(
        match["language"] for path in folder.glob("*.txt") if (match := _SENTENCES.fullmatch(path.name))
    )
    if not found:
        raise EaseError(
            f"{folder} has no file LANGUAGE_sentences.txt: give the folder of the published MewsC-16."
        )
    chosen = [language for language in found if languages is None or language in languages]
    if not chosen:
        raise EaseError(
            f"{folder} has none of the languages {', '.join(languages or ())}, only {', '.join(found)}."
        )
    if lacking := sorted(set(languages or ()).difference(found)):
        logger.info("%s has no %s", folder, ", ".join(lacking))
    return chosen


def _read(folder: Path, language: str) -> pa.Table:
    """Read a language's sentences and labels; blank sentences are skipped."""
    paths = [folder / f"{language}_{name}.txt" for name in ("sentences", "categories")]
    rows = []
    for number, (text, label) in read_parallel_lines(paths):
        if text.strip() and not label.strip():
            raise EaseError(f"{paths[1]}, line {number}: the category is blank: download the file again.")
        if text.strip():
            rows.append((text.strip(), label.strip()))
    columns = {"sentence": [text for text, _ in rows], "category": [label for _, label in rows]}
    nulls = {name: pa.nulls(len(rows), READ.field(name).type) for name in READ.names if name not in columns}
    return pa.table({**columns, **nulls}).select(READ.names).cast(READ)
