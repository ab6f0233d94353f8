"""Read entity vectors from Wikipedia2Vec's text files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ease.errors import EaseError
from ease.io.text_tables import bounded_lines, open_decompressed

_PREFIX = b"ENTITY/"
_PICKLE_START = b"\x80"


class EntityVector(NamedTuple):
    """A line of the file: the entity's title with spaces, its numbers as text, and the line's number."""

    title: str
    numbers: bytes
    line: int


def iterate_entity_vectors(path: Path, dimension: int) -> Iterator[EntityVector]:
    """Yield the entities of a text file, compressed or not, with or without a header; words are skipped.

    The package writes lines in two forms: title and numbers separated by a tab, or by a space if the title has `_`
    instead of spaces.

    Raises:
        EaseError: The file is missing, truncated, a pickle or another kind of file, or has another dimension or a line
            of more than a megabyte.
    """
    with open_decompressed(path) as file:
        start = file.peek(1)[:1]  # type: ignore[attr-defined]
        if start == _PICKLE_START or path.name.removesuffix(".bz2").endswith(".pkl"):
            raise EaseError(
                f"{path} is Wikipedia2Vec's binary file, a pickle, which could run any code and is refused. If you "
                "trust the file, convert it by `wikipedia2vec save-text --out-format word2vec MODEL.pkl VECTORS.txt`, "
                "or use the text file that is published beside it (.txt.bz2)."
            )
        for number, line in bounded_lines(file, path):
            if number == 1 and len(fields := line.split()) == 2 and all(map(bytes.isdigit, fields)):
                _check_dimension(path, int(fields[1][:9]), dimension)  # of the header `count dimension`
                continue
            title, tab, numbers = line.partition(b"\t")
            if not tab:
                title, _, numbers = line.partition(b" ")
                title = title.replace(b"_", b" ")
            if number <= 2:
                _check_dimension(path, len(numbers.split()), dimension)
            if title.startswith(_PREFIX):
                yield EntityVector(title.removeprefix(_PREFIX).decode("utf-8", "replace"), numbers, number)


def _check_dimension(path: Path, found: int, dimension: int) -> None:
    if found < 1:
        raise EaseError(f"{path} is not a text file of vectors: its lines are not a title and numbers.")
    if found != dimension:
        raise EaseError(
            f"The vectors of {path} have {found} dimensions and the encoder has {dimension}: use vectors of "
            f"{dimension} dimensions, or set `source` to `train`."
        )


def parse_numbers(vector: EntityVector, path: Path, dimension: int) -> np.ndarray:
    """Parse the numbers of a line.

    Returns:
        float32, shape (dimension,).

    Raises:
        EaseError: They are not `dimension` finite numbers.
    """
    try:
        numbers = np.array(vector.numbers.split(), dtype=np.float32)
    except ValueError as error:
        raise EaseError(
            f"{path}, line {vector.line}: the vector of {vector.title!r} is not numeric: {error}."
        ) from error
    if len(numbers) != dimension or not np.isfinite(numbers).all():
        raise EaseError(
            f"{path}, line {vector.line}: the vector of {vector.title!r} does not have {dimension} finite "
            "numbers: the file is corrupt, download it again."
        )
    return numbers
