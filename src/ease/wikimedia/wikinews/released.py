"""Clean the files of MewsC-16 as they were published: `{language}_sentences.txt` and `{language}_categories.txt`."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from tqdm import tqdm

from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from ease.io.text_tables import read_parallel_lines
from ease.wikimedia.dumps.parts import Counts
from ease.wikimedia.wikinews.editions import finish_folder, finish_language
from ease.wikimedia.wikinews.files import READ, NewsSource
from ease.wikimedia.wikinews.licences import UNKNOWN
from ease.wikimedia.wikinews.options import NewsOptions

logger = logging.getLogger(__name__)

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
            _log(language, table.num_rows, found)
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


def _log(language: str, rows: int, found: Counts) -> None:
    removed = ", ".join(f"{number} {reason}" for reason, number in found["removed"].items() if number)
    logger.info(
        "%s: %d of %d sentences stay; removed: %s", language, found["sentences"], rows, removed or "none"
    )


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
