"""Baseline of `mining_speed`: pairs and hard negatives from Python dictionaries and loops."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from benchmarks.link_tables import LinkTables

Page = tuple[str, int]
Key = tuple[str, int, int, int]


class Pair(NamedTuple):
    """A sentence, its entity and a hard negative: an entity of the same type that is absent from the page."""

    key: Key
    sentence: str
    hard_negative: int


def mine_with_dictionaries(
    tables: LinkTables, min_link_count: int, shortest: int, longest: int, per_language: int, seed: int
) -> Iterator[Pair]:
    """Yield sampled pairs whose entity has more than `min_link_count` links, each with a hard negative."""
    random.seed(seed)
    texts = {
        (row["language"], row["page_id"], row["sentence_index"]): row["text"]
        for row in rows_of(tables.sentences)
    }
    counts: Counter[int] = Counter()
    on_page: dict[Page, set[int]] = defaultdict(set)
    keys: set[Key] = set()
    for row in rows_of(tables.links):
        counts[row["entity"]] += 1
        on_page[row["language"], row["page_id"]].add(row["entity"])
        keys.add((row["language"], row["page_id"], row["sentence_index"], row["entity"]))
    by_language: dict[str, list[Key]] = defaultdict(list)
    for key in keys:
        if counts[key[3]] > min_link_count and shortest <= len(texts[key[:3]]) <= longest:
            by_language[key[0]].append(key)
    types: dict[int, list[int]] = defaultdict(list)
    members: dict[int, set[int]] = defaultdict(set)
    for row in rows_of(tables.entity_types):
        if counts[row["qid"]] > min_link_count:
            types[row["qid"]].append(row["type_qid"])
            members[row["type_qid"]].add(row["qid"])
    for found in by_language.values():
        for key in random.sample(found, min(per_language, len(found))):
            entity = key[3]
            for type_ in random.sample(types[entity], len(types[entity])):
                candidates = members[type_] - on_page[key[:2]] - {entity}
                if candidates:
                    yield Pair(key, texts[key[:3]], random.choice(list(candidates)))
                    break


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table."""
    for batch in pq.ParquetFile(path).iter_batches():
        yield from batch.to_pylist()
