"""Initial entity embeddings: Wikipedia2Vec, trained or loaded, or random vectors."""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator
from safetensors.numpy import load_file

from ease.entities.wikipedia2vec import Wikipedia2VecOptions, train_wikipedia2vec
from ease.errors import EaseError
from ease.io.text_tables import bounded_lines, open_decompressed
from ease.lazy import ibis, ir
from ease.options import StrictModel
from ease.wikimedia.dumps.files import DumpFile

logger = logging.getLogger(__name__)

_PREFIX = b"ENTITY/"
_PICKLE_START = b"\x80"

Distribution = Literal["normal", "uniform"]
"""Of random vectors"""

UNIFORM_BOUND = 0.05
"""Largest number of a uniform vector, as in the code of EASE's authors (`main.py`)"""


def iterate_entity_vectors(path: Path, dimension: int) -> Iterator[tuple[str, bytes, int]]:
    """Yield (title with spaces, numbers as text, line number) for each entity of a text file; words are skipped.

    The file may be compressed and have a header. The package writes lines in two forms: title and numbers separated by
    a tab, or by a space if the title has `_` instead of spaces.

    Raises:
        EaseError: If the file is missing, empty, truncated, a pickle or another kind of file, or has another dimension
            or a line of more than a megabyte.
    """
    with open_decompressed(path) as file:
        start = file.peek(1)[:1]  # type: ignore[attr-defined]
        if start == _PICKLE_START or path.name.removesuffix(".bz2").endswith(".pkl"):
            raise EaseError(
                f"{path} is Wikipedia2Vec's binary file, a pickle, which could run any code and is refused. If you "
                "trust the file, convert it by `wikipedia2vec save-text --out-format word2vec MODEL.pkl VECTORS.txt`, "
                "or use the text file that is published beside it (.txt.bz2)."
            )
        is_empty = True
        for number, line in bounded_lines(file, path):
            if number == 1 and len(fields := line.split()) == 2 and all(map(bytes.isdigit, fields)):
                # The header `count dimension`. A number of thousands of digits would be an error of `int`.
                _check_dimension(int(fields[1][:9]), dimension, path)
                continue
            is_empty = False
            title, tab, numbers = line.partition(b"\t")
            if not tab:
                title, _, numbers = line.partition(b" ")
                title = title.replace(b"_", b" ")
            # Only the first line and, behind a header, the second: splitting every line would take too long, and
            # `align_embeddings` checks the lines that it uses.
            if number <= 2:
                _check_dimension(len(numbers.split()), dimension, path)
            if title.startswith(_PREFIX):
                yield title.removeprefix(_PREFIX).decode("utf-8", "replace"), numbers, number
        if is_empty:
            raise EaseError(f"{path} has no vector: download it again.")


def _check_dimension(count: int, dimension: int, path: Path) -> None:
    """Raise EaseError if a line of a file of vectors does not have `dimension` numbers."""
    if count < 1:
        raise EaseError(f"{path} is not a text file of vectors: its lines are not a title and numbers.")
    if count != dimension:
        raise EaseError(
            f"The vectors of {path} have {count} dimensions and the encoder has {dimension}: use vectors of "
            f"{dimension} dimensions, or set `source` to `train`."
        )


class EmbeddingOptions(StrictModel):
    """Where the initial entity embeddings come from."""

    source: Literal["train", "file", "random"] = Field(
        "train",
        description="train: train Wikipedia2Vec on the English dump; file: read published vectors; random: use random "
        "vectors only",
    )
    file: Path | None = Field(
        None, description="for `source: file`: a .txt, .txt.bz2 or .txt.gz of the encoder's dimension"
    )
    random_vectors: Distribution = Field(
        "normal",
        description="numbers of entities without a vector; normal: with the standard deviation of the other entities' "
        "numbers; uniform: from -0.05 to 0.05, as in the code of EASE's authors",
    )
    seed: int = Field(0, ge=0, description="seed of the random vectors")
    wikipedia2vec: Wikipedia2VecOptions = Field(default_factory=Wikipedia2VecOptions, description="for `source: train`")

    @model_validator(mode="after")
    def _check_file(self) -> EmbeddingOptions:
        if (self.source == "file") != (self.file is not None):
            raise EaseError("`file` names the vectors if `source` is `file`, and is null otherwise.")
        return self


def name_entities(
    vocabulary: ir.Table, sitelinks: ir.Table | None = None, redirects: ir.Table | None = None, language: str = "en"
) -> ir.Table:
    """Return the titles that identify the vocabulary's rows among Wikipedia2Vec's entities of a language.

    With sitelinks, a row is identified only by its title in the language, not by a label in another language, which
    could be the title of something else. With redirects, a row is also identified by the titles that redirect to it,
    because its page may have been moved between the vectors' dump and this dump.

    Returns:
        Columns row, title, direct (false for a redirect); titles are unique.
    """
    titles = vocabulary.select("row", title="label")
    if sitelinks is not None:
        item_titles = sitelinks.filter(sitelinks.language == language).select(entity="qid", title="title")
        items = vocabulary.select("row", "entity").inner_join(item_titles, "entity").select("row", "title")
        # Without Wikidata there are no sitelinks either, entities are negative and labels are titles.
        titles = items.union(vocabulary.filter(vocabulary.entity < 0).select("row", title="label"))
    direct = titles.group_by("title").agg(row=titles.row.min()).select("row", "title", direct=True)
    if redirects is None:
        return direct.order_by("row", "title")
    moved = redirects.filter(redirects.language == language).rename(title="target_title")
    moved = moved.inner_join(direct, "title").group_by(title="source_title").agg(row=ibis._.row.min())
    moved = moved.select("row", "title", direct=False)
    return direct.union(moved.anti_join(direct, "title")).order_by("row", ibis.desc("direct"), "title")


def embed_entities(
    names: pa.Table,
    total: int,
    dimension: int,
    dumps: Sequence[DumpFile],
    options: EmbeddingOptions,
    work: Path,
    language: str = "en",
) -> tuple[np.ndarray, int]:
    """Return the initial entity embeddings, and how many of them are vectors of Wikipedia2Vec.

    Args:
        names: As `name_entities` returns them.
        total: Number of rows of the vocabulary.
        dimension: Dimension of the encoder.
        dumps: For `source: train`; Wikipedia2Vec is trained on the dump in `language`.
        options: Source of the vectors, and seed.
        work: Folder for the temporary files of Wikipedia2Vec's training.
        language: Language of the dump to train on.

    Returns:
        The table, float32, shape (total, dimension); and how many rows have a vector.

    Raises:
        EaseError: If there is no dump to train on, or the file cannot be used.
    """
    if options.source == "random":
        table = _draw_rows(total, dimension, options.seed, options.random_vectors)
        if options.random_vectors == "normal":
            # Rows of about length 1.
            table *= np.float32(dimension**-0.5)
        return table, 0
    if options.file is not None:
        return align_embeddings(names, total, options.file, dimension, options.seed, options.random_vectors)
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wikipedia2vec.", dir=work) as folder:
        vectors = Path(folder) / "vectors.txt"
        train_wikipedia2vec(dumps, language, dimension, options.wikipedia2vec, vectors)
        return align_embeddings(names, total, vectors, dimension, options.seed, options.random_vectors)


def align_embeddings(
    names: pa.Table, total: int, vectors: Path, dimension: int, seed: int, random_vectors: Distribution = "normal"
) -> tuple[np.ndarray, int]:
    """Copy the vectors of a text file into the rows of the vocabulary; the file is streamed once.

    A row gets the vector of its own title, else the first vector of a title that redirects to it, else a random
    vector; a normal one has the standard deviation of the copied vectors. Arguments, results and errors are those of
    `embed_entities`.
    """
    find = _title_finder(names)
    table = _draw_rows(total, dimension, seed, random_vectors)
    rank = np.zeros(total, dtype=np.int8)  # 0: random, 1: by a redirect, 2: by the title
    for title, text, line in iterate_entity_vectors(vectors, dimension):
        row, direct = find(title)
        if row is None or rank[row] >= 1 + direct:
            continue
        numbers = np.array([])
        with suppress(ValueError):
            numbers = np.array(text.split(), dtype=np.float32)
        if len(numbers) != dimension or not np.isfinite(numbers).all():
            raise EaseError(
                f"{vectors}, line {line}: the vector of {title!r} is not {dimension} finite numbers: the file is "
                "corrupt, download it again."
            )
        table[row] = numbers
        rank[row] = 1 + direct
    has_vector = rank > 0
    if random_vectors == "normal":
        std = dimension**-0.5
        if has_vector.any():
            std = _std(table, has_vector)
        # In place: the table may have millions of rows.
        np.multiply(table, np.float32(std), out=table, where=~has_vector[:, None])
    count = int(has_vector.sum())
    logger.info("%d of %d entities have a vector (%.1f %%)", count, total, 100 * count / max(total, 1))
    if not count:
        logger.warning("%s has no vector of any entity of the vocabulary: all rows are random.", vectors)
    return table, count


def _title_finder(names: pa.Table) -> Callable[[str], tuple[int | None, bool]]:
    """Return a function that finds the row of a title, if any, and whether the title is the row's own."""
    # Titles are 64-bit hashes in sorted arrays: 17 bytes per title instead of a dictionary's 100.
    titles = (title for batch in names.to_batches() for title in batch["title"].to_pylist())
    unsorted = np.fromiter(map(_title_hash, titles), dtype=np.uint64, count=len(names))
    order = np.argsort(unsorted, kind="stable")
    hashes = unsorted[order]
    rows = names["row"].to_numpy()[order]
    direct = names["direct"].to_numpy()[order]

    def find(title: str) -> tuple[int | None, bool]:
        title_hash = np.uint64(_title_hash(title))
        place = int(np.searchsorted(hashes, title_hash))
        if place == len(hashes) or hashes[place] != title_hash:
            return None, False
        return int(rows[place]), bool(direct[place])

    return find


def _title_hash(title: str) -> int:
    digest = hashlib.blake2b(title.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def draw_like(table: Path, seed: int, random_vectors: Distribution = "normal") -> np.ndarray:
    """Return random embeddings with the shape of those in a safetensors file (EASE, Table 7).

    Normal embeddings also have the standard deviation of the file's.
    """
    embeddings = load_file(table)["embeddings"]
    rows, dimension = embeddings.shape
    numbers = _draw_rows(rows, dimension, seed, random_vectors)
    if random_vectors == "normal":
        numbers *= np.float32(_std(embeddings, np.ones(len(embeddings), dtype=bool)))
    return numbers


def _draw_rows(total: int, dimension: int, seed: int, random_vectors: Distribution) -> np.ndarray:
    """Return standard normal numbers, or uniform ones up to `UNIFORM_BOUND`, float32, shape (total, dimension)."""
    generator = np.random.default_rng(seed)
    if random_vectors == "normal":
        return generator.standard_normal((total, dimension), dtype=np.float32)
    rows = generator.random((total, dimension), dtype=np.float32)
    rows -= np.float32(0.5)
    rows *= np.float32(2 * UNIFORM_BOUND)
    return rows


def _std(table: np.ndarray, rows: np.ndarray) -> float:
    """Return the standard deviation of all numbers in some rows, with bounded memory."""
    count = 0
    total = 0.0
    squares = 0.0
    row_numbers = np.flatnonzero(rows)
    for start in range(0, len(row_numbers), 4096):
        numbers = table[row_numbers[start : start + 4096]].astype(np.float64)
        count += numbers.size
        total += numbers.sum()
        squares += np.square(numbers).sum()
    # Rounding may leave a variance just below zero.
    return float(np.sqrt(max(squares / count - (total / count) ** 2, 0.0)))
