"""Files of the sample's training texts, in the formats of published sets."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from ease.sample.held_out import word_facts
from ease.sample.training_texts import draw_premises, draw_training_facts, word_inferences
from ease.sample.wiki import Sample

XNLI_COLUMNS = tuple(
    "language gold_label sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse sentence1 "
    "sentence2 promptID pairID genre label1 label2 label3 label4 label5 sentence1_tokenized sentence2_tokenized "
    "match".split()
)
FACT_COLUMNS = ("fact_id", "language", "text")


def write_training_texts(nli: Path, parallel: Path, sample: Sample, languages: Sequence[str]) -> None:
    """Write inferences with XNLI's columns, and facts in every language, as gzipped tab-separated tables."""
    options = sample.options
    facts = draw_training_facts(sample.world, sample.held_out, sample.books, options)
    stated = facts[: options.parallel_train_facts]
    _write(
        parallel,
        FACT_COLUMNS,
        word_facts(stated, sample.books, languages, f"parallel training {options.seed}"),
    )
    premises = draw_premises(sample.world, facts, options)
    rows = word_inferences(premises, sample.books, languages, options.seed)
    _write(nli, XNLI_COLUMNS, (_xnli_row(*row) for row in rows))


def _xnli_row(
    language: str, label: str, premise: str, hypothesis: str, prompt: int, pair: int
) -> tuple[str, ...]:
    """Fill XNLI's columns, without parses and tokens, and with a single annotator."""
    return (
        *(language, label, "", "", "", "", premise, hypothesis, str(prompt), str(pair)),
        *("sample", label, "-", "-", "-", "-", "", "", ""),
    )


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    # Without a name and a time in the gzip header, the same rows give the same bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        for row in chain([header], rows):
            packed.write(("\t".join(row) + "\n").encode())
