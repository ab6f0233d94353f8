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


def iterate_entity_vectors(path: Path, dimension: int) -> Iterator[tuple[str, bytes, int]]:
    """Yield (title with spaces, numbers as text, number of the line) of the entities of a text file; words are skipped.

    The file may be compressed and have a header. The package writes lines in two forms: title and numbers separated by
    a tab, or by a space if the title has `_` instead of spaces.

    Raises:
        EaseError: The file is missing, truncated, a pickle or another kind of file, or has another dimension or a line
            of more than a megabyte.
    """

    def check(found: int) -> None:
        if found < 1:
            raise EaseError(f"{path} is not a text file of vectors: its lines are not a title and numbers.")
        if found != dimension:
            raise EaseError(
                f"The vectors of {path} have {found} dimensions and the encoder has {dimension}: use vectors of "
                f"{dimension} dimensions, or set `source` to `train`."
            )

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
                check(int(fields[1][:9]))  # of the header `count dimension`
                continue
            title, tab, numbers = line.partition(b"\t")
            if not tab:
                title, _, numbers = line.partition(b" ")
                title = title.replace(b"_", b" ")
            if number <= 2:
                check(len(numbers.split()))
            if title.startswith(_PREFIX):
                yield title.removeprefix(_PREFIX).decode("utf-8", "replace"), numbers, number


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

    With sitelinks, a row is identified by its title in the language only, not by a label in another one, which could be
    the title of something else. With redirects, a row is also identified by the titles that redirect to it, because its
    page may have been moved between the vectors' dump and this one.

    Returns:
        Columns row, title, direct (false for a redirect); titles are unique.
    """
    titles = vocabulary.select("row", title="label")
    if sitelinks is not None:
        own = sitelinks.filter(sitelinks.language == language).select(entity="qid", title="title")
        items = vocabulary.select("row", "entity").inner_join(own, "entity").select("row", "title")
        # Without Wikidata there are no sitelinks either, entities are negative and labels are titles.
        titles = items.union(vocabulary.filter(vocabulary.entity < 0).select("row", title="label"))
    named = titles.group_by("title").agg(row=titles.row.min()).select("row", "title", direct=True)
    if redirects is None:
        return named.order_by("row", "title")
    moved = redirects.filter(redirects.language == language).rename(title="target_title")
    moved = moved.inner_join(named, "title").group_by(title="source_title").agg(row=ibis._.row.min())
    moved = moved.select("row", "title", direct=False)
    return named.union(moved.anti_join(named, "title")).order_by("row", ibis.desc("direct"), "title")


def embed_entities(
    names: pa.Table,
    total: int,
    dimension: int,
    dumps: Sequence[DumpFile],
    options: EmbeddingOptions,
    work: Path,
    language: str = "en",
) -> tuple[np.ndarray, int]:
    """Make the initial entity table.

    Args:
        names: As `name_entities` returns them.
        total: Number of rows of the vocabulary.
        dimension: Dimension of the encoder.
        dumps: For `source: train`; Wikipedia2Vec is trained on that of `language`.
        options: Source of the vectors, and seed.
        work: Folder for the temporary files of that training.
        language: Language of the dump to train on.

    Returns:
        The table, float32, shape (total, dimension); and how many rows have a vector.

    Raises:
        EaseError: There is no dump to train on, or the file cannot be used.
    """
    if options.source == "random":
        table = _draw_rows(total, dimension, options.seed)
        table *= np.float32(dimension**-0.5)
        return table, 0
    if options.file is not None:
        return align_embeddings(names, total, options.file, dimension, options.seed)
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wikipedia2vec.", dir=work) as folder:
        vectors = Path(folder) / "vectors.txt"
        train_wikipedia2vec(dumps, language, dimension, options.wikipedia2vec, vectors)
        return align_embeddings(names, total, vectors, dimension, options.seed)


def align_embeddings(names: pa.Table, total: int, vectors: Path, dimension: int, seed: int) -> tuple[np.ndarray, int]:
    """Copy the vectors of a text file into the rows of the vocabulary; the file is streamed once.

    A row gets the vector of its own title, else the first vector of a title that redirects to it, else a random one
    with the standard deviation of the rows found. Arguments, results and errors are those of `embed_entities`.
    """
    find = _find_rows(names)
    table = _draw_rows(total, dimension, seed)
    rank = np.zeros(total, dtype=np.int8)  # 0: random, 1: by a redirect, 2: by the title
    for title, text, line in iterate_entity_vectors(vectors, dimension):
        row, direct = find(title)
        if row is not None and rank[row] < 1 + direct:
            numbers = np.array([])
            with suppress(ValueError):
                numbers = np.array(text.split(), dtype=np.float32)
            if len(numbers) != dimension or not np.isfinite(numbers).all():
                raise EaseError(
                    f"{vectors}, line {line}: the vector of {title!r} is not {dimension} finite numbers: the file is "
                    "corrupt, download it again."
                )
            table[row], rank[row] = numbers, 1 + direct
    found = rank > 0
    std = _std(table, found) if found.any() else dimension**-0.5
    np.multiply(table, np.float32(std), out=table, where=~found[:, None])
    count = int(found.sum())
    logger.info("%d of %d entities have a vector (%.1f %%)", count, total, 100 * count / max(total, 1))
    if not count:
        logger.warning("%s has no vector of any entity of the vocabulary: all rows are random.", vectors)
    return table, count


def _find_rows(names: pa.Table) -> Callable[[str], tuple[int | None, bool]]:
    """Return a function that finds the row of a title, if any, and whether the title is the row's own.

    Titles are 64-bit hashes in sorted arrays: 17 bytes per title instead of a dictionary's 100.
    """

    def hashed(title: str) -> int:
        digest = hashlib.blake2b(title.encode("utf-8", "replace"), digest_size=8).digest()
        return int.from_bytes(digest, "big")

    titles = (title for batch in names.to_batches() for title in batch["title"].to_pylist())
    unsorted = np.fromiter(map(hashed, titles), dtype=np.uint64, count=len(names))
    order = np.argsort(unsorted, kind="stable")
    hashes, rows, direct = unsorted[order], names["row"].to_numpy()[order], names["direct"].to_numpy()[order]

    def find(title: str) -> tuple[int | None, bool]:
        wanted = np.uint64(hashed(title))
        place = int(np.searchsorted(hashes, wanted))
        if place == len(hashes) or hashes[place] != wanted:
            return None, False
        return int(rows[place]), bool(direct[place])

    return find


def draw_like(table: Path, seed: int) -> np.ndarray:
    """Return random embeddings with the shape and standard deviation of those in a safetensors file (Table 7)."""
    given = load_file(table)["embeddings"]
    rows, dimension = given.shape
    numbers = _draw_rows(rows, dimension, seed)
    numbers *= np.float32(_std(given, np.ones(len(given), dtype=bool)))
    return numbers


def _draw_rows(total: int, dimension: int, seed: int) -> np.ndarray:
    """Return standard normal numbers, float32, shape (total, dimension)."""
    return np.random.default_rng(seed).standard_normal((total, dimension), dtype=np.float32)


def _std(table: np.ndarray, rows: np.ndarray) -> float:
    """Return the standard deviation of all numbers in some rows, with bounded memory."""
    count, total, squares, chosen = 0, 0.0, 0.0, np.flatnonzero(rows)
    for start in range(0, len(chosen), 4096):
        numbers = table[chosen[start : start + 4096]].astype(np.float64)
        count += numbers.size
        total += numbers.sum()
        squares += np.square(numbers).sum()
    return float(np.sqrt(max(squares / count - (total / count) ** 2, 0.0)))
