"""The two editions of MewsC-16, the paper's and a cleaned one: options, licences, cleaning, splits, files, card."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jinja2 import StrictUndefined, Template
from numpy.typing import NDArray
from pydantic import Field

from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from ease.io.files import read_data_file
from ease.io.progress import ProgressBar
from ease.io.text_tables import read_parallel_lines
from ease.lazy import pc, pd
from ease.wikimedia.dumps.parts import Counts, IngestOptions
from ease.wikimedia.wikinews.first_sentences import Abbreviations
from ease.wikimedia.wikitext.titles import CATEGORY, FILE, known_namespaces

logger = logging.getLogger(__name__)

UNKNOWN_LICENCE = "unknown"
"""The licence of a text whose licence is not known; such a text is not published."""
SPLITS = ("small", "earlier", "recent")
NEWS_COLUMNS = pa.schema(
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

`category` is the topic in English, `revised` the day of the last revision, and `date` that of the article's own date
line, or null. `dump_date` is YYYYMMDD, or null if unknown.
"""

_LICENCES = read_data_file("ease.wikimedia.wikinews", "licences.yml")
# Texts that are compared with all others at once: a block of the matrix of n-grams in common fits in memory.
_ROWS = 500
_NOT_WORD = re.compile(r"[\W_]+")
# Templates, links, magic words, headings, options of images; tags; sizes of images; marks of lists.
_MARKUP = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|__[A-Z]+__|==|\|"
    r"|</?[A-Za-z][^<>]*>"
    r"|\d+px\b"
    r"|^[;:*#]"
)
_SENTENCES_NAME = re.compile(r"(?P<language>[a-z-]+)_sentences\.txt")
# Least width of a sentence in columns; East Asian characters take two.
_MIN_WIDTH = 20
# A sentence on more pages is a notice: none of its copies stays.
_MAX_REPEATS = 10
# Near duplicates have at least this Jaccard similarity of their sets of n-grams of so many characters.
_SIMILARITY = 0.8
_CHARACTERS = 5
# Largest number of rows of the balanced split `small`, and the seed of its draw.
_SMALL = 2048
_SEED = 42
# First day of the split `recent`; older articles are in `earlier`, and articles without a known date in neither.
_RECENT = date(2022, 1, 1)


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
        "paper", description="paper: as appendix E describes it; clean: without repeated, cut and ambiguous sentences"
    )
    for_publishing: bool = Field(False, description="refuse to make a data set with texts whose licence is not known")


class NewsSource(NamedTuple):
    """Name of the texts' source, their licence (None: by language and revision), and the attribution."""

    name: str
    licence: str | None
    attribution: str


WIKINEWS = NewsSource(**read_data_file("ease.wikimedia.wikinews", "source.yml"))
_RELEASED = NewsSource(
    "the published MewsC-16",
    UNKNOWN_LICENCE,
    "The text is by the authors of Wikinews. The published files name neither articles nor revisions, so the licence "
    "of a sentence is not known: Wikinews used several versions of Creative Commons Attribution.",
)


def licence_history(language: str) -> list[dict[str, Any]]:
    """Return the licences of a language's Wikinews in the form of `licences.yml`, oldest first."""
    exceptions = _LICENCES["languages"].get(language, [])
    general = _LICENCES["all"]
    if exceptions:
        general = [licence for licence in general if licence["since"] < exceptions[0]["since"]]
    return [*general, *exceptions]


def licence_in_force(history: Sequence[Mapping[str, Any]], day: date | None) -> str:
    """Return the licence of text that was revised on a day; `unknown` before the first licence or without a day."""
    if day is None:
        return UNKNOWN_LICENCE
    licences = [licence["licence"] for licence in history if licence["since"] <= day]
    return str([UNKNOWN_LICENCE, *licences][-1])


def read_parts(parts: Sequence[Path]) -> tuple[pa.Table, int]:
    """Return the rows of some parts sorted by page id, and the number of repeated pages.

    Of a page that the parts have twice, the newest revision stays, of equal ones the first. Memory holds one
    language's rows, as Arrow columns.
    """
    tables = [pq.read_table(part, schema=NEWS_COLUMNS) for part in parts]
    table = pa.concat_tables([NEWS_COLUMNS.empty_table(), *tables])
    page_ids = table["page_id"].to_numpy()
    newest_first = np.lexsort((-table["revision_id"].to_numpy(), page_ids))
    _, first_rows = np.unique(page_ids[newest_first], return_index=True)
    return table.take(pa.array(newest_first[first_rows])), table.num_rows - len(first_rows)


def finish_language(folder: Path, language: str, table: pa.Table, options: NewsOptions, source: NewsSource) -> Counts:
    """Clean a language's rows (columns `NEWS_COLUMNS`) if the edition is `clean`, and write the language's files.

    Returns `sentences`, `classes` and `dropped_classes` (rows by topic), the rows `removed` by reason, and the rows by
    `licences` and `splits`.
    """
    is_clean = options.edition == "clean"
    removed: Counter[str] = Counter()
    if is_clean:
        table, removed = clean(table, language)
    sizes = _sizes(table, "category")
    dropped = {name: size for name, size in sizes.items() if size < options.min_class_size}
    table = table.filter(pc.invert(pc.is_in(table["category"], pa.array(dropped, pa.string()))))
    history = licence_history(language)
    licences = [source.licence or licence_in_force(history, day) for day in table["revised"].to_pylist()]
    table = table.append_column("licence", pa.array(licences, pa.string()))
    if table.num_rows:
        pq.write_table(table, folder / f"{language}.parquet", compression="zstd")
        for name, column in (("sentences", "sentence"), ("categories", "category")):
            lines = "".join(f"{line}\n" for line in table[column].to_pylist())
            (folder / f"{language}_{name}.txt").write_text(lines, encoding="utf-8", newline="\n")
    splits = {}
    if is_clean:
        splits = _write_splits(folder, language, table)
    return {
        "sentences": table.num_rows,
        "classes": _sizes(table, "category"),
        "dropped_classes": dropped,
        "removed": {**removed, "small_class": sum(dropped.values())},
        "licences": _sizes(table, "licence"),
        "splits": splits,
    }


def _sizes(table: pa.Table, column: str) -> dict[str, int]:
    return dict(sorted((row["values"], row["counts"]) for row in table[column].value_counts().to_pylist()))


def _write_splits(folder: Path, language: str, table: pa.Table) -> dict[str, int]:
    """Write `{language}_{split}.parquet` for the splits that have rows, and return their row counts."""
    small = balanced(table["category"].to_pylist(), _SMALL, _SEED)
    # Comparisons with a null are null, so rows without a date are in neither of the last two.
    tables = (
        table.take(pa.array(small)),
        table.filter(pc.less(table["date"], _RECENT)),
        table.filter(pc.greater_equal(table["date"], _RECENT)),
    )
    sizes = {}
    for name, split in zip(SPLITS, tables, strict=True):
        if split.num_rows:
            pq.write_table(split, folder / f"{language}_{name}.parquet", compression="zstd")
            sizes[name] = split.num_rows
    return sizes


def balanced(labels: Sequence[str], limit: int, seed: int) -> NDArray[np.int64]:
    """Draw at most `limit` rows with classes of equal size as far as possible, by the label of each row.

    Returns the places of the drawn rows, ascending. Classes that are smaller than the others' share are complete.
    """
    names, classes, sizes = np.unique(np.asarray(labels, str), return_inverse=True, return_counts=True)
    shares = np.zeros(len(names), int)
    rest = limit
    # Smallest classes first: what they do not use of their share goes to the larger ones.
    for position, place in enumerate(np.argsort(sizes, kind="stable")):
        shares[place] = min(sizes[place], rest // (len(names) - position))
        rest -= shares[place]
    random = np.random.default_rng(seed)
    places = [
        random.choice(np.flatnonzero(classes == place), share, replace=False) for place, share in enumerate(shares)
    ]
    return np.sort(np.concatenate([np.empty(0, np.int64), *places])).astype(np.int64)


def finish_folder(folder: Path, counts: Mapping[str, Counts], options: NewsOptions, source: NewsSource) -> None:
    """Write the card (README.md) beside the languages' files.

    Raises EaseError if nothing is left, or a licence is not known and the data set is for publishing.
    """
    counts_with_rows = {language: report for language, report in sorted(counts.items()) if report["sentences"]}
    if not counts_with_rows:
        raise EaseError(
            f"No Wikinews page is left: check `topics`, or lower `min_class_size` ({options.min_class_size})."
        )
    unknown = {language: report["licences"].get(UNKNOWN_LICENCE) for language, report in counts.items()}
    rows = ", ".join(f"{language}: {number}" for language, number in unknown.items() if number)
    if rows and options.for_publishing:
        raise EaseError(
            f"The licence of some sentences is not known ({rows}): for your own use, set `for_publishing` to false."
        )
    # A source with one licence has no history of licences by language.
    history = {}
    if not source.licence:
        history = {language: licence_history(language) for language in counts_with_rows}
    card = Template(
        files(__package__).joinpath("card.md.j2").read_text(encoding="utf-8"),
        trim_blocks=True,
        undefined=StrictUndefined,
    ).render(
        counts=counts_with_rows,
        topics=sorted({topic for report in counts_with_rows.values() for topic in report["classes"]}),
        removed=sorted({reason for report in counts_with_rows.values() for reason in report["removed"]}),
        licences=sorted({licence for report in counts_with_rows.values() for licence in report["licences"]}),
        history=history,
        min_class_size=options.min_class_size,
        source=source,
        edition=options.edition,
    )
    (folder / "README.md").write_text(f"{card}\n", encoding="utf-8")


def clean(table: pa.Table, language: str) -> tuple[pa.Table, Counter[str]]:
    """Remove sentences (columns `sentence`, `category` and any others) of one language; of duplicates, the first stays.

    Returns the remaining rows in their order, and the number of removed rows by reason: `markup` (template, category or
    file text), `short`, `abbreviation` (the sentence was cut after one), `notice` (on more than 10 pages),
    `contradictory` (duplicates with several labels) and `duplicate`.
    """
    removed: Counter[str] = Counter()

    def remove(reason: str, bad: NDArray[np.bool_]) -> None:
        nonlocal table
        removed[reason] += int(bad.sum())
        table = table.filter(pa.array(~bad))

    names = [name for name, number in known_namespaces(language).items() if number in (CATEGORY, FILE)]
    prefix = re.compile(rf"(?:{'|'.join(map(re.escape, names))})\s?:", re.IGNORECASE)
    tests: dict[str, Callable[[str], bool]] = {
        "markup": lambda sentence: bool(_MARKUP.search(sentence) or prefix.search(sentence)),
        "short": lambda sentence: _width(sentence) < _MIN_WIDTH,
        "abbreviation": Abbreviations(language).ends,
    }
    # The comparisons below take longest, so the tests of single sentences come first.
    for reason, is_bad in tests.items():
        remove(reason, np.fromiter(map(is_bad, table["sentence"].to_pylist()), bool, table.num_rows))
    texts = pd.Series([normalized(sentence) for sentence in table["sentence"].to_pylist()], dtype=object)
    is_notice = (texts.groupby(texts).transform("size") > _MAX_REPEATS).to_numpy(bool)
    remove("notice", is_notice)
    groups = pd.Series(duplicate_groups(list(texts[~is_notice]), _SIMILARITY, _CHARACTERS), dtype=np.int64)
    labels = pd.Series(table["category"].to_pylist(), dtype=object)
    is_contradictory = (labels.groupby(groups).transform("nunique") > 1).to_numpy(bool)
    remove("contradictory", is_contradictory)
    remove("duplicate", groups[~is_contradictory].duplicated().to_numpy())
    return table, removed


def _width(sentence: str) -> int:
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in sentence)
    return len(sentence) + wide


def normalized(text: str) -> str:
    """Return a text without case, punctuation and differences of width, for exact comparison."""
    return _NOT_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def duplicate_groups(texts: Sequence[str], similarity: float, characters: int) -> NDArray[np.int64]:
    """Return the number of each text's group of similar texts, shape (texts,).

    Two normalised texts are similar if their sets of n-grams of so many characters have at least the Jaccard
    `similarity`; groups are the connected components. A text shorter than an n-gram is one n-gram.
    """
    # Slow to import.
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components
    from sklearn.feature_extraction.text import HashingVectorizer

    if not texts:
        return np.empty(0, np.int64)
    # Each text's set of hashed n-grams as a row of zeros and ones.
    vectorizer = HashingVectorizer(
        analyzer=lambda text: {text[start : start + characters] for start in range(max(1, len(text) - characters + 1))},
        norm=None,
        alternate_sign=False,
        dtype=np.float32,
    )
    grams = csr_array(vectorizer.transform(texts))
    grams.data[:] = 1
    # Sorted by size, so that each block is compared with larger sets up to a bound only.
    order = np.argsort(np.diff(grams.indptr), kind="stable")
    grams = csr_array(grams[order])
    sizes = np.diff(grams.indptr)
    pairs: list[NDArray[np.int64]] = []
    for start in range(0, len(sizes), _ROWS):
        end = min(start + _ROWS, len(sizes))
        # A set with more than 1/similarity times as many n-grams cannot be similar enough.
        last = int(np.searchsorted(sizes, sizes[end - 1] / similarity, side="right"))
        common = (grams[start:end] @ grams[start:last].T).tocoo()
        row = common.row + start
        column = common.col + start
        union = sizes[row] + sizes[column] - common.data
        is_similar = (column > row) & (common.data >= similarity * union)
        pairs.append(order[np.stack([row[is_similar], column[is_similar]])])
    links = np.concatenate(pairs, axis=1)
    graph = coo_array((np.ones(links.shape[1], bool), (links[0], links[1])), shape=(len(texts),) * 2)
    return connected_components(graph, directed=False)[1].astype(np.int64)


def clean_released(folder: Path, options: NewsOptions, target: Path, languages: Sequence[str]) -> dict[str, Counts]:
    """Write the edition `clean` of published files, two for each language, atomically into the folder `target`.

    The folder may lack some languages; the labels are those of the files. Returns the counts of `finish_language`.
    Raises EaseError if the folder has no such files, two files do not fit each other, or nothing is left.
    """
    options = options.model_copy(update={"edition": "clean"})
    matches = [match for path in folder.glob("*.txt") if (match := _SENTENCES_NAME.fullmatch(path.name))]
    available = [language for language in sorted(match["language"] for match in matches) if language in languages]
    if not available:
        raise EaseError(
            f"{folder} has no file LANGUAGE_sentences.txt of {', '.join(languages)}: give the folder of the published "
            "MewsC-16."
        )
    counts: dict[str, Counts] = {}
    with atomic_folder(target) as scratch:
        for language in ProgressBar(available, desc="cleaning MewsC-16", unit="language", leave=True):
            table = _read_released(folder, language)
            report = finish_language(scratch, language, table, options, _RELEASED)
            removed = ", ".join(f"{number} {reason}" for reason, number in report["removed"].items() if number)
            message = "%s: %d of %d sentences stay; removed: %s"
            logger.info(message, language, report["sentences"], table.num_rows, removed or "none")
            counts[language] = {**report, "pages": table.num_rows, "dumps": []}
        finish_folder(scratch, counts, options, _RELEASED)
    return counts


def _read_released(folder: Path, language: str) -> pa.Table:
    """Return a language's sentences and labels; blank sentences are skipped."""
    paths = [folder / f"{language}_{name}.txt" for name in ("sentences", "categories")]
    rows = []
    for number, lines in read_parallel_lines(paths):
        text, label = map(str.strip, lines)
        if text and not label:
            raise EaseError(f"{paths[1]}, line {number}: the category is blank: download the file again.")
        if text:
            rows.append({"sentence": text, "category": label})
    return pa.Table.from_pylist(rows, schema=NEWS_COLUMNS)
