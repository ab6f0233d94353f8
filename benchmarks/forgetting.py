"""Add a language to a multilingual encoder, with and without the encoder as its own teacher; score the old languages.

    kedro run --pipelines=train_low_resource --tags=acquire,ingest,entity_pairs,hard_negatives,entity_embeddings
    python -m benchmarks.forgetting
    python -m benchmarks.forgetting --added ca --seeds 1 2 --teachers none similarity:1 cosine:10:en

EASE+ first trains the encoder of the setting `low_resource` on the pairs of English and the old languages, all but the
added one. Then EASE+ trains that encoder on the pairs of English and the added language. The table has the retrieval
accuracy of the sample's parallel sentences between English and each language, averaged over both directions and all
seeds.
"""

from __future__ import annotations

import json
import logging
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.command_line import command_line_parser
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.evaluation.scoring import score_tasks
from ease.reporting.markdown_tables import format_table
from ease.training.job import run_job
from ease.training.options import TrainingJob, TrainingOptions

PIVOT = "en"
NO_TEACHER = "none"
START = "before"
TEACHERS = [NO_TEACHER, "similarity:1", "cosine:10", "similarity:1:en", "cosine:10:en"]
"""Form, weight, and the languages taught; without languages, all"""


def newest(data: Path, place: str) -> Path:
    """Return the newest version of a dataset of the setting."""
    folder = data / place.format("low_resource")
    versions = sorted(folder.glob(f"*/{folder.name}"))
    if not versions:
        raise SystemExit(f"{folder} does not exist: run the first command of --help.")
    return versions[-1]


def pairs_of(data: Path, languages: Sequence[str], folder: Path) -> Path:
    """Write the pairs of some languages."""
    table = pq.read_table(newest(data, "05_model_input/{}/training_pairs.parquet"))
    file = folder / f"pairs-{'-'.join(languages)}.parquet"
    pq.write_table(table.filter(pc.field("language").isin(languages)), file)
    return file


def train(
    data: Path, pairs: Path, encoder: Path, folder: Path, seed: int, steps: int, teacher: str = NO_TEACHER
) -> Path:
    """Train EASE+ with the sample's parameters; return the model."""
    form, weight, *languages = (teacher if teacher != NO_TEACHER else ":0").split(":")
    options = {"encoder": "start", "form": form, "weight": float(weight)} if form else {}
    if languages:
        options["languages"] = " ".join(languages)
    loop = TrainingOptions.model_validate(
        {
            **{"batch_size": 128, "learning_rate": 3e-3, "max_steps": steps, "threads": 1, "seed": seed},
            "teacher": options,
        }
    )
    job = TrainingJob(
        folder=folder,
        pairs=pairs,
        encoder=str(encoder),
        method="ease_plus",
        vocabulary=newest(data, "03_primary/{}/entity_vocabulary.parquet"),
        table=newest(data, "05_model_input/{}/entity_embeddings.safetensors"),
        training=loop,
    )
    return run_job(job).model


def scores(data: Path, encoder: Path, languages: Sequence[str]) -> dict[str, float]:
    """Return the retrieval accuracy of each language with English, averaged over both directions."""
    (file,) = data.glob("01_raw/sample/sample-*/parallel.parquet")
    tasks = {"sample_parallel": {"path": str(file), "languages": list(languages)}}
    found = score_tasks(encode_with(load_encoder(str(encoder))), list(tasks), tasks)
    by_subset = {score.subset: score.value for score in found}
    return {
        language: statistics.mean(
            value for subset, value in by_subset.items() if language in subset.split("-")
        )
        for language in languages
    }


def main(arguments: list[str] | None = None) -> int:
    """Train and score; print the table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"), help="the project's data folder")
    parser.add_argument("--languages", nargs="+", default=["ca", "eo", "tr"], help="all but English")
    parser.add_argument("--added", default="tr", help="the language that is added")
    parser.add_argument("--teachers", nargs="+", default=TEACHERS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    old = [language for language in given.languages if language != given.added]
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        before, after = (pairs_of(given.data, [PIVOT, *codes], work) for codes in (old, [given.added]))
        untrained = newest(given.data, "06_models/{}/untrained/encoder")
        for seed in given.seeds:
            start = train(given.data, before, untrained, work / f"start-{seed}", seed, given.steps)
            models = {START: start}
            for teacher in given.teachers:
                folder = work / f"{teacher}-{seed}"
                models[teacher] = train(given.data, after, start, folder, seed, given.steps, teacher)
            for title, model in models.items():
                found.setdefault(title, []).append(scores(given.data, model, given.languages))
                print(json.dumps({"seed": seed, "model": title, **found[title][-1]}), flush=True)
    rows = [
        {"model": title, **{code: round(statistics.mean(row[code] for row in runs), 1) for code in runs[0]}}
        for title, runs in found.items()
    ]
    print(format_table(pd.DataFrame(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
