"""Subprocess that trains wikipedia2vec: `python -m ease.entities.wikipedia2vec_worker JOB`."""

from __future__ import annotations

import errno
import functools
import json
import logging
import os
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import lmdb
import numpy as np
from wikipedia2vec import Dictionary, DumpDB, Wikipedia2Vec
from wikipedia2vec.link_graph import LinkGraph
from wikipedia2vec.mention_db import MentionDB
from wikipedia2vec.utils.tokenizer import get_tokenizer
from wikipedia2vec.utils.wiki_page import WikiPage

from ease.entities.wikipedia2vec import FAULT_STATUS, Wikipedia2VecOptions
from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo
from ease.wikimedia.dumps.pages import ARTICLES, iterate_pages, redirect_of
from ease.wikimedia.wikitext.titles import normalize_title

_CHUNK_SIZE = 100
_COUNTING = {"min_word_count", "min_entity_count", "min_paragraph_len"}
# The package's own defaults, as in the paper.
_NAMING = {"min_link_prob": 0.2, "min_prior_prob": 0.01, "max_mention_len": 20}
_LEARNING = {"init_alpha": 0.025, "min_alpha": 0.0001, "window": 5, "negative": 5, "entity_neg_power": 0}
_TRAINING = {**_LEARNING, "sample": 1e-4, "iteration": 5, "entities_per_page": 10}

QUIET_MILLISECONDS = 30_000
"""No progress is logged before this time: a small dump takes two seconds, in which the package logs a dozen steps."""


class DumpReader:
    """Pages of any dump files for `DumpDB.build`; the package's own reader accepts a single .bz2 file."""

    def __init__(self, dumps: Sequence[DumpFile]) -> None:
        self._dumps = dumps
        self.dump_file = ", ".join(str(dump.path) for dump in dumps)
        self.language = dumps[0].language

    def __iter__(self) -> Iterator[WikiPage]:
        """Yield articles and redirects."""
        for dump in self._dumps:
            site = read_siteinfo(dump.path, dump.language)
            shard = Shard(dump, 0, dump.path.stat().st_size)
            for page in iterate_pages(shard, namespaces=ARTICLES):
                # Pages of other namespaces come without their text.
                if page.namespace not in ARTICLES:
                    continue
                redirect = redirect_of(page, site)
                target = None
                if redirect:
                    target = normalize_title(redirect, site)
                yield WikiPage(page.title, self.language, page.text, target)


def train_vectors(dumps: Sequence[DumpFile], dimension: int, options: Wikipedia2VecOptions, vectors: Path) -> None:
    """Build the package's tables, train, and write the entities' vectors.

    Raises:
        EaseError: If the dump has no frequent word or no frequent entity.
    """
    progress = {"progressbar": sys.stderr.isatty(), "chunk_size": _CHUNK_SIZE}
    building = {"pool_size": options.build_workers, **progress}
    database = str(vectors.with_name("dump.db"))
    try:
        DumpDB.build(DumpReader(dumps), database, options.build_workers, _CHUNK_SIZE)
    except lmdb.DiskError as error:
        # LMDB reports a full disk by a class of its own, which `report_write_errors` does not know.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
    dump_db = DumpDB(database)
    tokenizer = get_tokenizer("icu", dumps[0].language)
    counting = options.model_dump(include=_COUNTING)
    dictionary = Dictionary.build(
        dump_db, tokenizer, lowercase=True, category=False, disambi=False, **counting, **building
    )
    if not dictionary.word_size or not dictionary.entity_size:
        raise EaseError(
            f"{dumps[0].path} has {dictionary.word_size} words and {dictionary.entity_size} entities that "
            f"are frequent enough for Wikipedia2Vec: lower `min_word_count` ({options.min_word_count}) and "
            f"`min_entity_count` ({options.min_entity_count}), or set `source` to `file` or `random`."
        )
    link_graph = _build_link_graph(dump_db, dictionary, building)
    mention_db = MentionDB.build(dump_db, dictionary, tokenizer, case_sensitive=False, **_NAMING, **building)
    # The package uses the global generators.
    random.seed(options.seed)
    seed_numpy = functools.partial(np.random.seed, options.seed)
    seed_numpy()
    if options.pool_size == 1:
        # The package's worker calls `np.random.seed()` without a seed.
        np.random.seed = seed_numpy
    model = Wikipedia2Vec(dictionary)
    training = options.model_dump(include={"word_neg_power", "pool_size"})
    model.train(
        dump_db, link_graph, mention_db, tokenizer, None, dim_size=dimension, **_TRAINING, **training, **progress
    )
    # With all digits: the package itself writes three decimals.
    with vectors.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{dictionary.entity_size} {model.syn0.shape[1]}\n")
        for entity in dictionary.entities():
            numbers = " ".join(f"{number:.9g}" for number in model.syn0[entity.index].tolist())
            file.write(f"ENTITY/{entity.title.replace(' ', '_')} {numbers}\n")


def _build_link_graph(dump_db: DumpDB, dictionary: Dictionary, building: dict[str, int | bool]) -> LinkGraph:
    """Build the graph with a row for every entity; the package omits rows after the last entity with a link."""
    try:
        graph = LinkGraph.build(dump_db, dictionary, **building).serialize()
    except ValueError as error:
        raise EaseError(
            f"Wikipedia2Vec found no link between frequently linked pages of {dump_db.dump_file}: "
            "lower `min_entity_count`."
        ) from error
    missing = dictionary.entity_size + 1 - len(graph["indptr"])
    graph["indptr"] = np.pad(graph["indptr"], (0, missing), mode="edge")
    return LinkGraph.load(graph, dictionary)


def main() -> None:
    """Run the job in the file that is the only argument."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", datefmt="%H:%M:%S")
    logging.getLogger().handlers[0].addFilter(
        lambda record: record.levelno > logging.INFO or record.relativeCreated > QUIET_MILLISECONDS
    )
    job_file = Path(sys.argv[1])
    try:
        job = json.loads(job_file.read_text(encoding="utf-8"))
        dumps = [DumpFile.from_json(dump) for dump in job["dumps"]]
        with report_write_errors(job_file.parent):
            train_vectors(dumps, job["dimension"], Wikipedia2VecOptions(**job["options"]), Path(job["vectors"]))
    except EaseError as error:
        # Not to a file: the disk may be full.
        sys.stdout.buffer.write(str(error).encode())
        raise SystemExit(FAULT_STATUS) from error


if __name__ == "__main__":
    main()
