"""Drop articles that several dump files of one language have; the first file's are kept."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ease.wikimedia.dumps.parts import Counts, make_part, open_table, read_counts
from ease.wikimedia.dumps.table_writer import TableWriter
from ease.wikimedia.wikipedia.articles import PAGES_FILE, REDIRECTS_FILE, SENTENCES_FILE
from ease.wikimedia.wikipedia.sentence_table import SENTENCES


def without_repeated(files: Sequence[Sequence[Path]]) -> list[list[Path]]:
    """Drop the articles that an earlier dump file of the language has already.

    Returns:
        The part folders of each file; a part that repeats articles is replaced by a filtered copy beside it.
    """
    seen = np.empty(0, dtype=np.int64)
    """Sorted page ids of the files so far: 8 bytes an article, 56 MB for the largest Wikipedia."""
    kept = []
    for parts in files:
        ids = []
        for part in parts:
            with open_table(part / SENTENCES_FILE) as table:
                batches = [np.unique(batch["page_id"]) for batch in table.iter_batches(columns=["page_id"])]
            ids.append(np.unique(np.concatenate([np.empty(0, dtype=np.int64), *batches])))
        kept.append(
            [
                _filtered(part, np.intersect1d(own, seen, assume_unique=True))
                for part, own in zip(parts, ids, strict=True)
            ]
        )
        seen = np.union1d(seen, np.concatenate(ids))
    return kept


def _filtered(part: Path, repeated: np.ndarray) -> Path:
    """Return a part without some pages, written beside the part."""
    if not len(repeated):
        return part
    digest = hashlib.blake2b(repeated.tobytes(), digest_size=8).hexdigest()
    filtered = part.with_name(f"{part.name}-{digest}")
    make_part(filtered, lambda folder: _write_filtered(part, repeated, folder))
    return filtered


def _write_filtered(part: Path, repeated: np.ndarray, folder: Path) -> Counts:
    dropped: Counter[str] = Counter(articles=len(repeated))
    with (
        open_table(part / SENTENCES_FILE) as table,
        TableWriter(folder / SENTENCES_FILE, SENTENCES) as writer,
    ):
        for batch in table.iter_batches():
            again = pc.is_in(batch["page_id"], pa.array(repeated))
            gone = batch.filter(again)
            dropped["sentences"] += gone.num_rows
            dropped["links"] += pc.sum(pc.list_value_length(gone["links"])).as_py() or 0
            writer.write(batch.filter(pc.invert(again)))
    for name in (REDIRECTS_FILE, PAGES_FILE):
        (folder / name).write_bytes((part / name).read_bytes())
    report = read_counts(part)
    for name, number in dropped.items():
        report["counts"][name] -= number
    report["counts"]["skipped"]["repeated"] = len(repeated)
    return report
