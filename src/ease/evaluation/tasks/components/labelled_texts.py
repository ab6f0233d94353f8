"""Texts with class labels, read from one or two text files."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ease.errors import EaseError
from ease.io.text_tables import read_lines, read_parallel_lines


@dataclass(frozen=True)
class LabelledTexts:
    """Texts without white space at their ends, their labels, and the number of skipped blank texts."""

    texts: list[str]
    labels: list[str]
    blank: int = 0

    @property
    def note(self) -> str:
        """Note shown beside the score."""
        return f"blank texts skipped: {self.blank}" if self.blank else ""


def collect_texts(path: Path, rows: Iterable[tuple[str, str, str]]) -> LabelledTexts:
    """Collect labelled texts; blank texts are skipped and counted.

    Args:
        path: File named in error messages.
        rows: Place named in error messages, label and text.

    Raises:
        EaseError: With the row whose label is missing, or the file if it has no text.
    """
    texts, labels, blank = [], [], 0
    for place, label, text in rows:
        if not label.strip():
            raise EaseError(f"{place}: the label is missing; fetch or make the file again.")
        if text.strip():
            texts.append(text.strip())
            labels.append(label.strip())
        else:
            blank += 1
    if not texts:
        raise EaseError(f"{path}: holds no text; fetch or make the file again.")
    return LabelledTexts(texts, labels, blank)


def read_tab_separated(
    path: Path, known: Collection[str] | None = None, clean: Callable[[str], str] = str.strip
) -> LabelledTexts:
    """Read lines of a label, a tab and a text, which may contain tabs; blank lines are skipped.

    Args:
        path: The file.
        known: Allowed labels; None allows any.
        clean: Function applied to each text.

    Raises:
        EaseError: With the line that has no tab or an unknown label, or whose text `clean` refuses.
    """

    def rows() -> Iterator[tuple[str, str, str]]:
        for number, line in read_lines(path):
            place = f"{path}, line {number}"
            label, tab, text = line.partition("\t")
            if not tab:
                if not line.strip():
                    continue
                raise EaseError(f"{place}: no tab between a label and a text; is it another kind of file?")
            if known is not None and label.strip() and label.strip() not in known:
                raise EaseError(f"{place}: the label {label!r} is none of {', '.join(sorted(known))}.")
            try:
                cleaned = clean(text)
            except ValueError as error:
                raise EaseError(f"{place}: {error}") from error
            yield place, label, cleaned

    return collect_texts(path, rows())


def read_paired(texts: Path, labels: Path) -> LabelledTexts:
    """Read a file of texts and a file of labels, line by line.

    Raises:
        EaseError: If the files differ in length, or a label is missing.
    """
    pairs = read_parallel_lines([texts, labels])
    return collect_texts(
        texts, ((f"{labels}, line {number}", label, text) for number, (text, label) in pairs)
    )


def read_json_lines(path: Path, text: str, label: str) -> LabelledTexts:
    """Read lines of JSON objects.

    Args:
        path: The file.
        text: Field of the text.
        label: Field of the label.

    Raises:
        EaseError: With the file and line that is not an object with both fields.
    """

    def rows() -> Iterator[tuple[str, str, str]]:
        for number, line in read_lines(path):
            if not line.strip():
                continue
            place = f"{path}, line {number}"
            try:
                row = json.loads(line)
                values = row[label], row[text]
            except (ValueError, TypeError) as error:
                raise EaseError(f"{place}: not a JSON object ({error}).") from error
            except KeyError as error:
                raise EaseError(f"{place}: no field {error} among {', '.join(map(repr, row))}.") from error
            named, content = ("" if value is None else str(value) for value in values)
            yield place, named, content

    return collect_texts(path, rows())
