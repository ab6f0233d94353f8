"""Compare the encoding speed of a static student with Model2Vec's and with `SentenceTransformer.encode`.

    python -m benchmarks.static_speed
    python -m benchmarks.static_speed --encoder data/06_models/multilingual/static_student/latest

All three encode the same sentences with the same tokenizer and the same vectors, in alternating rounds of one process;
every implementation keeps its default number of threads. Without `--encoder`, the student has random vectors: its speed
does not depend on them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from benchmarks.command_line import command_line_parser
from benchmarks.encoding_speed import in_turn, sentences_of
from benchmarks.inputs import evaluation_tasks
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.tokenizer import train_tokenizer

BATCH = 1024
"""Model2Vec's batch size"""


def random_student(sentences: Sequence[str], tokens: int, dimension: int) -> SentenceTransformer:
    """Return a static encoder with random vectors and a tokenizer trained on the sentences."""
    tokenizer: Any = train_tokenizer(sentences, tokens, 128, lowercase=False, max_sentences=len(sentences))
    vectors = np.random.default_rng(0).normal(size=(len(tokenizer), dimension)).astype(np.float32)
    module = StaticEmbedding(tokenizer, embedding_weights=torch.from_numpy(vectors))
    return SentenceTransformer(modules=[module], device="cpu")


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--encoder", help="folder of a static student; default: random vectors")
    parser.add_argument("--sentences", type=int, default=20_000, help="maximum number of distinct sentences")
    parser.add_argument("--tokens", type=int, default=16_000, help="tokens of the random student")
    parser.add_argument("--dimension", type=int, default=128, help="dimension of the random student")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as work:
        sentences = sentences_of(evaluation_tasks(Path(work)))[: given.sentences]
    measure(given, sentences)


def measure(given: argparse.Namespace, sentences: list[str]) -> None:
    """Measure each implementation and print the table."""
    if given.encoder:
        student = load_encoder(given.encoder)
    else:
        student = random_student(sentences, given.tokens, given.dimension)
    module: Any = student[0]
    peer = StaticModel(module.embedding.weight.detach().numpy(), module.tokenizer)
    ways: dict[str, Callable[[], object]] = {
        "Model2Vec": lambda: peer.encode(sentences),
        "ease": lambda: encode_with(student)(sentences),
        "SentenceTransformer.encode": lambda: student.encode(
            sentences, batch_size=BATCH, show_progress_bar=False
        ),
    }
    seconds = in_turn(ways, given.rounds)
    print("| | sentences/s | speed relative to Model2Vec |\n| --- | ---: | ---: |")
    for name, spent in seconds.items():
        print(f"| {name} | {len(sentences) / spent:,.0f} | {seconds['Model2Vec'] / spent:.2f} |")


if __name__ == "__main__":
    main()
