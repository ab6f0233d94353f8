"""Readers of published files of natural language inference, which yield rows of one schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from ease.errors import EaseError
from ease.io.text_tables import read_parallel_lines
from ease.texts.components.files import column_names, file_kind, read_fields

ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"

LABELS = {
    **{label: label for label in (ENTAILMENT, NEUTRAL, CONTRADICTION)},
    "contradictory": CONTRADICTION,  # the machine-translated MultiNLI of XNLI
    **{"0": ENTAILMENT, "1": NEUTRAL, "2": CONTRADICTION},
}
UNLABELLED = ("", "-", "-1")
"""Labels of pairs without agreement of the annotators, and of hidden test sets."""

SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        *((name, pa.string()) for name in ("language", "prompt", "pair", "premise", "hypothesis", "label")),
    ]
)
"""One row per pair of a premise and a hypothesis in one language.

`pair` is the same in all languages that have the pair. `prompt` is the same for all pairs of one premise, and null if
the file does not number its premises. `language` is empty if the file names none.
"""


class Inference(NamedTuple):
    """One row, without its number."""

    language: str
    prompt: str | None
    pair: str
    premise: str
    hypothesis: str
    label: str


Rows = Iterator[tuple[str, Inference]]
"""Unchecked rows, each with its place for messages."""


def inferences(path: Path, split: str, counts: Counter[str]) -> Iterator[tuple[int | str | None, ...]]:
    """Yield the labelled rows of a file or folder in `SCHEMA`; blank and unlabelled rows are dropped and counted.

    Args:
        path: XNLI's tab-separated columns; SimCSE's csv of sent0, sent1 and hard_neg; a folder of SNLI's line files
            (s1.*, s2.*, labels.*) or of MultiNLI as XNLI translates it (multinli.train.*.tsv).
        split: Split of a folder's files.
        counts: Filled with the numbers of read and dropped rows.

    Raises:
        EaseError: If the file has another format, or a label is unknown, with the file and the line.
    """
    counts.update({"read": 0, "unlabelled": 0, "blank": 0})
    for number, (place, row) in enumerate(_rows(path, split)):
        counts["read"] += 1
        stated = row.label.strip().lower()
        if stated in UNLABELLED:
            counts["unlabelled"] += 1
        elif stated not in LABELS:
            raise EaseError(
                f"{place}: unknown label {row.label!r}; known are entailment, neutral, contradiction and 0, 1, 2. "
                "Leave it blank, `-` or -1 to drop the row."
            )
        elif not (row.premise.strip() and row.hypothesis.strip()):
            counts["blank"] += 1
        else:
            texts = row.premise.strip(), row.hypothesis.strip()
            yield number, row.language, row.prompt, row.pair, *texts, LABELS[stated]


def translations(folder: Path, split: str) -> list[Path]:
    """Return the sorted files of a folder of MultiNLI as XNLI translates it, one for each language."""
    return sorted(folder.glob(f"multinli.{split}.*.tsv"))


def _rows(path: Path, split: str) -> Rows:
    if path.is_dir():
        translated = translations(path, split)
        return _translated(translated) if translated else _line_files(path, split)
    return _triplets(path) if file_kind(path) == "csv" else _columns(path)


def _line_files(folder: Path, split: str) -> Rows:
    """Read s1.SPLIT, s2.SPLIT and labels.SPLIT."""
    paths = [folder / f"{name}.{split}" for name in ("s1", "s2", "labels")]
    missing = [path.name for path in paths if not path.exists()]
    if missing:
        raise EaseError(
            f"{folder}: no {', '.join(missing)}, nor multinli.{split}.*.tsv. Give the folder of such files, and their "
            "`split`."
        )
    for number, (premise, hypothesis, label) in read_parallel_lines(paths):
        yield f"{paths[2]}, line {number}", Inference("", None, str(number), premise, hypothesis, label)


def _translated(paths: Sequence[Path]) -> Rows:
    """Read parallel files, one per language."""
    for path in paths:
        language = path.name.split(".")[2]
        for number, (premise, hypothesis, label) in read_fields(path, ["premise", "hypo", "label"]):
            row = Inference(language, None, str(number), premise, hypothesis, label)
            yield f"{path}, line {number}", row


def _columns(path: Path) -> Rows:
    """Read the columns of XNLI; the columns of the language and the numbers are optional."""
    header = column_names(path)
    optional = [name for name in ("language", "promptID", "pairID") if name in header]
    for number, fields in read_fields(path, ["gold_label", "sentence1", "sentence2", *optional]):
        label, premise, hypothesis, *others = fields
        named = dict(zip(optional, others, strict=True))
        language, prompt = named.get("language", ""), named.get("promptID") or None
        pair = named.get("pairID") or f"line {number}"
        yield f"{path}, line {number}", Inference(language, prompt, pair, premise, hypothesis, label)


def _triplets(path: Path) -> Rows:
    """Read sent0, sent1 and, if present, hard_neg as two pairs of the same premise."""
    names = [name for name in ("sent0", "sent1", "hard_neg") if name in column_names(path)]
    if len(names) < 2:
        raise EaseError(
            f"{path}: a csv of inferences has the columns sent0, sent1 and hard_neg; it has "
            f"{', '.join(column_names(path))}. For other columns, use the kind `columns`."
        )
    for number, (premise, *hypotheses) in read_fields(path, names):
        for label, hypothesis in zip((ENTAILMENT, CONTRADICTION), hypotheses, strict=False):
            pair = f"{number} {label}"
            yield f"{path}, line {number}", Inference("", str(number), pair, premise, hypothesis, label)
