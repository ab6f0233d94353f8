"""Pairs per second of our training loop and of sentence-transformers' trainer, side by side in one run.

    python benchmarks/training_speed.py PAIRS.parquet --steps 40 --rounds 3

Both train SimCSE (equation 3, temperature 0.05) on the same sentences from the same encoder with AdamW in single
precision: ours with the batch padded whole and in chunks by length, theirs with MultipleNegativesRankingLoss on
pairs of equal sentences. Rounds alternate, and the best of each counts, since other work on the machine only slows.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

from ease.encoder import EncoderOptions, build_encoder, load_encoder, save_encoder
from ease.training import TrainingJob, TrainingOptions, run_job

MAX_TOKENS = 32
SCALE = 20.0
"""Their name for 1 over the temperature."""


def our_rate(folder: Path, batch_size: int, steps: int, chunks: int) -> float:
    """Pairs per second of our loop."""
    with tempfile.TemporaryDirectory() as work:
        job = TrainingJob(
            folder=Path(work),
            pairs=folder / "pairs.parquet",
            encoder=str(folder / "encoder"),
            method="simcse",
            training=TrainingOptions(
                batch_size=batch_size,
                steps=steps,
                max_tokens=MAX_TOKENS,
                length_chunks=chunks,
                precision="fp32",
            ),
        )
        return run_job(job).pairs_per_second


def their_rate(folder: Path, batch_size: int, steps: int) -> float:
    """Pairs per second of sentence-transformers' trainer."""
    encoder = load_encoder(str(folder / "encoder"))
    encoder.max_seq_length = MAX_TOKENS
    sentences = pq.read_table(folder / "pairs.parquet")["sentence"].to_pylist()
    with tempfile.TemporaryDirectory() as work:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=work,
            max_steps=steps,
            per_device_train_batch_size=batch_size,
            learning_rate=3e-5,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = SentenceTransformerTrainer(
            model=encoder,
            args=arguments,
            train_dataset=Dataset.from_dict({"anchor": sentences, "positive": sentences}),
            loss=MultipleNegativesRankingLoss(encoder, scale=SCALE),
        )
        return steps * batch_size / trainer.train().metrics["train_runtime"]


def measure(pairs: Path, encoder: str | None, batch_size: int, steps: int, rounds: int) -> dict[str, float]:
    """Best pairs per second of each way to train, by its name."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        sentences = pq.read_table(pairs, columns=["sentence"])
        pq.write_table(pa.table(sentences), folder / "pairs.parquet")
        options = EncoderOptions() if encoder is None else EncoderOptions(name=encoder)
        save_encoder(build_encoder(options, sentences["sentence"].to_pylist()), folder / "encoder")
        ways: dict[str, Callable[[], float]] = {
            "sentence-transformers' trainer": partial(their_rate, folder, batch_size, steps),
            "ours, padded whole": partial(our_rate, folder, batch_size, steps, 1),
            "ours, 4 chunks by length": partial(our_rate, folder, batch_size, steps, 4),
        }
        rates: dict[str, float] = dict.fromkeys(ways, 0.0)
        for _ in range(rounds):
            for name, way in ways.items():
                rates[name] = max(rates[name], way())
    return rates


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", type=Path, help="Parquet with a column `sentence`")
    parser.add_argument("--encoder", help="a folder or hub name; by default a random BERT of two layers")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    rates = measure(
        arguments.pairs, arguments.encoder, arguments.batch_size, arguments.steps, arguments.rounds
    )
    reference = next(iter(rates.values()))
    print("| | pairs per second | ratio |\n| --- | ---: | ---: |")
    for name, rate in rates.items():
        print(f"| {name} | {rate:.0f} | {rate / reference:.2f} |")


if __name__ == "__main__":
    main()
