"""Rates of parsing and training, measured on this machine in seconds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from ease.wikimedia.dumps.files import DumpFile, read_siteinfo, split_into_shards
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import SENTENCES_FILE, ShardTask, write_shard

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from ease.training.options import TrainingOptions

SHARD = 1 << 19
"""Bytes of a dump that are parsed at once"""


class ParsingRate(NamedTuple):
    """What was parsed, and in which time, by one process."""

    seconds: float
    size: int
    """Compressed bytes"""
    pages: int
    sentences: int
    links: int
    texts: list[str]
    """Some of the sentences"""

    def of(self, total: int, count: int) -> int:
        """Return a count that was measured, scaled to a dump of `total` bytes."""
        return round(count * total / max(1, self.size))


def measure_parsing(
    dumps: Sequence[DumpFile], options: IngestOptions, seconds: float, folder: Path
) -> ParsingRate:
    """Parse shards that are spread over the dumps until the time is up, and count what they hold.

    Args:
        dumps: Files on this machine.
        options: How dumps are read.
        seconds: The time; one shard is parsed in any case.
        folder: Receives the parts.
    """
    shards = [shard for dump in dumps for shard in split_into_shards(dump, SHARD)]
    order = np.random.default_rng(0).permutation(len(shards))
    sites = {dump: read_siteinfo(dump.path, dump.language) for dump in dumps}
    size = pages = sentences = links = 0
    texts: list[str] = []
    began = time.perf_counter()
    for number in order.tolist():
        shard, part = shards[number], folder / str(number)
        part.mkdir(parents=True)
        limits = options.max_page_bytes, options.max_page_seconds
        task = ShardTask(shard, sites[shard.dump], options.splitter, *limits)
        counts = write_shard(task, part)["counts"]
        size, pages = size + task.size(), pages + counts["pages"]
        sentences, links = sentences + counts.get("sentences", 0), links + counts.get("links", 0)
        if len(texts) < 2000:
            texts += pq.read_table(part / SENTENCES_FILE, columns=["text"])["text"].to_pylist()
        if time.perf_counter() - began > seconds:
            break
    return ParsingRate(time.perf_counter() - began, size, pages, sentences, links, texts)


def measure_training(
    encoder: SentenceTransformer, texts: Sequence[str], training: TrainingOptions, seconds: float
) -> float:
    """Return how many sentences a second the encoder encodes forward and backward, with the threads of the training."""
    import torch

    from ease.encoders.batches import CPU_SENTENCES, GPU_SENTENCES

    size = min(training.batch_size, GPU_SENTENCES if encoder.device.type == "cuda" else CPU_SENTENCES)
    many = list(texts) * (1 + size // len(texts))
    before = torch.get_num_threads()
    torch.set_num_threads(training.threads or before)
    encoder.train()
    encoder.max_seq_length = training.max_tokens
    try:
        _encode(encoder, many[:size])  # not counted
        began, start, done = time.perf_counter(), 0, 0
        while not done or time.perf_counter() - began < seconds:
            _encode(encoder, many[start : start + size])
            start, done = (start + size) % (len(many) - size + 1), done + size
        return done / (time.perf_counter() - began)
    finally:
        torch.set_num_threads(before)


def _encode(encoder: SentenceTransformer, texts: list[str]) -> None:
    """Encode texts forward and backward."""
    from sentence_transformers.util import batch_to_device

    features = batch_to_device(encoder.preprocess(texts), encoder.device)
    loss = encoder(features)["sentence_embedding"].pow(2).sum()
    loss.backward()
    loss.detach().item()  # waits for the device
    encoder.zero_grad()
