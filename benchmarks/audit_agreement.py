"""Compare the audit, a test set made from links alone, with the sample's parallel sentences over many checkpoints.

    kedro run --pipelines=audit
    kedro run --pipelines=train_multilingual --params multilingual.pairs.without_audit=true \
        --tags=acquire,acquire_evaluation,ingest,entity_pairs,hard_negatives,entity_embeddings
    python -m benchmarks.audit_agreement --figure docs/audit.svg
    python -m benchmarks.audit_agreement --trainings simcse:3 ease:3 --steps 400 --languages de ja

Each training is of the sample's multilingual setting, without the pages of the audit. Every checkpoint is scored by
both tests. A finished training is kept in `--work`, so that a second run of the command only prints.

The output has a row for each checkpoint, Spearman's correlation of both scores over all of them, and, for each
training, what the checkpoint that the audit chooses loses in `sample_parallel` against the best checkpoint.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
from scipy.stats import spearmanr

from benchmarks.command_line import command_line_parser
from ease.entities.pairs import permute_entities
from ease.methods import get_method, method_options
from ease.reporting.markdown_tables import format_table
from ease.training.job import run_job
from ease.training.options import TrainingJob, TrainingOptions

TRAININGS = ["ease_plus:42", "ease:42", "simcse:42", "ease:1", "ease_plus:42:permuted", "ease_plus:1"]
"""Method, seed, and `permuted` if the entities of each language are permuted"""
AUDIT, PARALLEL = "audit", "sample_parallel"
PERMUTED = "permuted"
SETTING = "multilingual"
COLOURS = ["#1b6ca8", "#d1495b", "#6a994e", "#8d6a9f", "#edae49", "#444444"]
WIDTH, MARGIN = 480, 50


def newest(data: Path, place: str) -> Path:
    """Return the newest version of a dataset of the setting."""
    folder = data / place.format(SETTING)
    versions = sorted(folder.glob(f"*/{folder.name}"))
    if not versions:
        raise SystemExit(f"{folder} does not exist: run the first commands of --help.")
    return versions[-1]


def development(data: Path, languages: Sequence[str] | None) -> dict[str, dict[str, Any]]:
    """Return the options of both tests, on all languages or some."""
    subsets = languages and [f"{language}-en" for language in languages]
    (file,) = data.glob("01_raw/sample/sample-*/parallel.parquet")
    return {
        AUDIT: {"path": str(data / "01_raw" / "evaluation" / AUDIT / SETTING), "subsets": subsets},
        PARALLEL: {"path": str(file), "languages": languages},
    }


def check_pages(data: Path) -> None:
    """Refuse pairs of the audit's pages: its scores would be those of sentences seen in training."""
    pairs = pd.read_parquet(newest(data, "05_model_input/{}/training_pairs.parquet"))
    pages = pd.read_parquet(newest(data, "03_primary/{}/audit_pages.parquet"))
    if seen := len(pairs.merge(pages, on=["language", "page_id"])):
        raise SystemExit(f"{seen} training pairs are of the audit's pages: run the second command of --help.")


def pairs_of(data: Path, work: Path, seed: int, permuted: bool) -> Path:
    """Return the training pairs, or write them with permuted entities."""
    pairs = newest(data, "05_model_input/{}/training_pairs.parquet")
    if not permuted:
        return pairs
    file = work / f"{PERMUTED}-{seed}.parquet"
    vocabulary = ibis.read_parquet(newest(data, "03_primary/{}/entity_vocabulary.parquet"))
    permute_entities(ibis.read_parquet(pairs), vocabulary, seed).to_parquet(file)
    return file


def train(
    data: Path, work: Path, training: str, steps: int, evaluations: int, languages: Sequence[str] | None
) -> list[dict[str, Any]]:
    """Train by one method with the sample's parameters; return both scores of each checkpoint."""
    method, seed, *rest = training.split(":")
    plus = method == "ease_plus"
    options: dict[str, Any] = {"self_supervised": False} if plus else {}
    reads = get_method(method).reads_entities
    if reads:
        options |= {"entity_weight": 1.0, "temperature": 0.05}
    job = TrainingJob(
        folder=work / training.replace(":", "-"),
        pairs=pairs_of(data, work, int(seed), PERMUTED in rest),
        encoder=str(newest(data, "06_models/{}/untrained/encoder")),
        method=method,
        method_options=method_options(method, options),
        vocabulary=newest(data, "03_primary/{}/entity_vocabulary.parquet") if reads else None,
        table=newest(data, "05_model_input/{}/entity_embeddings.safetensors") if reads else None,
        training=TrainingOptions(
            batch_size=256 if plus else 128,
            learning_rate=3e-3,
            max_steps=steps,
            evaluate_every=steps // evaluations,
            warmup=0.1 if plus else 0.0,
            threads=1,
            max_tokens=32,
            seed=int(seed),
        ),
        development=development(data, languages),
    )
    job.folder.mkdir(parents=True, exist_ok=True)
    names = {name: f"development/{name}/average" for name in (AUDIT, PARALLEL)}
    return [
        {
            "training": training,
            "step": int(line["step"]),
            **{name: round(line[key], 2) for name, key in names.items()},
        }
        for line in run_job(job).history
        if names[AUDIT] in line
    ]


def losses(rows: pd.DataFrame) -> pd.DataFrame:
    """Return, for each training, the checkpoint that the audit chooses and what it loses against the best one."""
    found = []
    for training, own in rows.groupby("training", sort=False):
        chosen = own.loc[own[AUDIT].idxmax()]
        best = own[PARALLEL].max()
        about = {"training": training, "chosen step": int(chosen["step"]), PARALLEL: chosen[PARALLEL]}
        found.append({**about, "best": best, "loss": round(best - chosen[PARALLEL], 2)})
    return pd.DataFrame(found)


def scatter(rows: pd.DataFrame, file: Path) -> None:
    """Draw both scores of each checkpoint as SVG."""
    most = 10 * (int(rows[[AUDIT, PARALLEL]].to_numpy().max()) // 10 + 1)

    def place(score: float) -> float:
        return score / most * (WIDTH - 2 * MARGIN)

    low, high = MARGIN, WIDTH - MARGIN
    parts = [f'<path d="M{low} {low}V{high}H{high}" fill="none" stroke="#888"/>']
    for tick in range(0, most + 1, 20):
        x, y = low + place(tick), high - place(tick)
        parts.append(f'<text x="{x:.0f}" y="{high + 16}" text-anchor="middle">{tick}</text>')
        parts.append(f'<text x="{low - 6}" y="{y + 4:.0f}" text-anchor="end">{tick}</text>')
    for number, (training, own) in enumerate(rows.groupby("training", sort=False)):
        colour = COLOURS[number % len(COLOURS)]
        for audit, parallel in own[[AUDIT, PARALLEL]].to_numpy():
            x, y = low + place(audit), high - place(parallel)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}" fill-opacity="0.7"/>')
        parts.append(f'<text x="{low + 12}" y="{low + 16 * number}" fill="{colour}">{training}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{WIDTH - 12}" text-anchor="middle">{AUDIT}</text>')
    turned = f'transform="translate(14 {WIDTH / 2}) rotate(-90)" text-anchor="middle"'
    parts.append(f"<text {turned}>{PARALLEL}</text>")
    style = 'font-family="sans-serif" font-size="12" xmlns="http://www.w3.org/2000/svg"'
    box = f'width="{WIDTH}" height="{WIDTH}" viewBox="0 0 {WIDTH} {WIDTH}"'
    background = f'<rect width="{WIDTH}" height="{WIDTH}" fill="white"/>'
    file.write_text("\n".join([f"<svg {box} {style}>", background, *parts, "</svg>\n"]), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Train, score and compare."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"), help="the project's data folder")
    parser.add_argument("--work", type=Path, default=Path("data/06_models/work/audit_agreement"))
    parser.add_argument(
        "--trainings", nargs="+", default=TRAININGS, help="METHOD:SEED or METHOD:SEED:permuted"
    )
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument(
        "--evaluations", type=int, default=5, help="checkpoints of a training after its start"
    )
    parser.add_argument("--languages", nargs="+", help="to score, without English; by default all")
    parser.add_argument("--figure", type=Path, help="SVG file to write")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    check_pages(given.data)
    given.work.mkdir(parents=True, exist_ok=True)
    found: list[dict[str, Any]] = []
    for training in given.trainings:
        scored = train(given.data, given.work, training, given.steps, given.evaluations, given.languages)
        for row in scored:
            print(json.dumps(row), flush=True)
        found += scored
    rows = pd.DataFrame(found)
    distinct = rows.drop_duplicates(["step", AUDIT, PARALLEL])  # all trainings begin with one encoder
    correlation = spearmanr(distinct[AUDIT], distinct[PARALLEL]).statistic
    print(format_table(rows))
    print(format_table(losses(rows)))
    print(f"Spearman's correlation over {len(distinct)} checkpoints: {correlation:.3f}")
    if given.figure:
        scatter(distinct, given.figure)
    return 0


if __name__ == "__main__":
    sys.exit(main())
