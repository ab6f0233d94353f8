"""Articles that several dump files of one language hold: the first file's are kept."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ease.wikimedia.dumps.parts import (
    TableWriter,
    is_whole,
    open_table,
    read_counts,
    whole_folder,
    write_counts,
)
from ease.wikimedia.wikipedia.articles import PAGES_FILE, REDIRECTS_FILE, SENTENCES, SENTENCES_FILE


def without_repeated(files: Sequence[Sequence[Path]]) -> list[list[Path]]:
    """The parts of a language's dump files, without the articles that an earlier file has already.

    Args:
        files: The part folders of each dump file.

    Returns:
        The same; a part that repeats articles is replaced by one without them, which is made beside it.
    """
    seen = np.empty(0, dtype=np.int64)
    """Page ids of the files so far, sorted: 8 bytes an article, 56 MB for the largest Wikipedia."""
    kept = []
    for parts in files:
        ids = [_page_ids(part) for part in parts]
        kept.append(
            [
                _filtered(part, np.intersect1d(own, seen, assume_unique=True))
                for part, own in zip(parts, ids, strict=True)
            ]
        )
        seen = np.union1d(seen, np.concatenate(ids))
    return kept


def _page_ids(part: Path) -> np.ndarray:
    """The distinct page ids of a part, sorted."""
    with open_table(part / SENTENCES_FILE) as table:
        batches = [
            np.unique(batch["page_id"].to_numpy()) for batch in table.iter_batches(columns=["page_id"])
        ]
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *batches]))


def _filtered(part: Path, repeated: np.ndarray) -> Path:
    """The part without some pages."""
    if not len(repeated):
        return part
    digest = hashlib.blake2b(repeated.tobytes(), digest_size=8).hexdigest()
    final = part.with_name(f"{part.name}-{digest}")
    if is_whole(final):
        return final
    with whole_folder(final) as folder, open_table(part / SENTENCES_FILE) as table:
        dropped: Counter[str] = Counter()
        with TableWriter(folder / SENTENCES_FILE, SENTENCES) as writer:
            for batch in table.iter_batches():
                again = pc.is_in(batch["page_id"], pa.array(repeated))
                gone = batch.filter(again)
                dropped["sentences"] += gone.num_rows
                dropped["links"] += pc.sum(pc.list_value_length(gone["links"])).as_py() or 0
                writer.write(batch.filter(pc.invert(again)))
        for name in (REDIRECTS_FILE, PAGES_FILE):
            (folder / name).write_bytes((part / name).read_bytes())
        report = read_counts(part)
        counts = report["counts"]
        for name, number in (*dropped.items(), ("articles", len(repeated))):
            counts[name] -= number
        counts["skipped"]["repeated"] = len(repeated)
        write_counts(folder, report)
    return final
