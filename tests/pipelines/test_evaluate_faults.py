"""A faulty evaluation set or baseline does not prevent the other scores."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from sentence_transformers import SentenceTransformer

from ease.encoders.options import EncodingOptions
from ease.evaluation.sets import locate_sets
from ease.pipelines.evaluate.scoring import score_each
from tests.encoders.test_whitening import make_encoder
from tests.project import Project

GOOD, BAD = "2012", "2013"


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write two small years of STS, one of them with a missing grade, and tests with two classes like SentEval's."""
    folder = tmp_path_factory.mktemp("sets")
    years = {
        GOOD: ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
        BAD: ("FNWN", "headlines", "OnWN"),
    }
    for year, parts in years.items():
        place = folder / "sts" / "senteval" / f"STS{year[2:]}-en-test"
        place.mkdir(parents=True)
        for part in parts:
            pairs = [f"A man plays {thing}.\tSomebody plays {thing}." for thing in ("chess", "a song", "on")]
            (place / f"STS.input.{part}.txt").write_text("\n".join(pairs) + "\n")
            (place / f"STS.gs.{part}.txt").write_text("1\n2.5\n4\n")
    (folder / "sts" / "senteval" / f"STS{BAD[2:]}-en-test" / "STS.gs.OnWN.txt").write_text("1\n2.5\n")
    return folder


def evaluate(project: Project, sets: Path, **given: Any) -> Any:
    chosen = {"evaluate__tasks": "sts sample_graded", "acquire_evaluation__folder": sets, **given}
    return project.run("evaluate", check=False, **chosen)


def rows(project: Project, path: str) -> dict[tuple[str, str, str], float]:
    return {(row["method"], row["task"], row["subset"]): row["value"] for row in project.json(path)}


@pytest.fixture(scope="module")
def faulty(project: Project, sets: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Any]:
    """A project in which `evaluate` has run on a bad set and with a baseline that does not exist."""
    made = project.copy(tmp_path_factory.mktemp("faulty") / "copy")
    ours = made.latest("06_models/multilingual/untrained/encoder")
    shutil.copytree(ours, made.folder / "own encoder")
    baselines = {
        "evaluate__baselines__gone__name": "no/such-encoder",
        "evaluate__baselines__Ours (untrained)__name": "own encoder",
    }
    return made, evaluate(made, sets, **baselines)


def test_the_run_reports_missing_scores_at_its_end_and_fails(faulty: tuple[Project, Any]) -> None:
    _, done = faulty
    assert done.returncode == 1
    end = done.stderr[done.stderr.rindex("Error: ") :]
    assert "STS13-en-test/STS.gs.OnWN.txt 2 grades" in end
    assert "gone" in end
    assert "'no/such-encoder' does not load" in end
    assert "Traceback" not in done.stderr


def test_everything_else_is_scored_and_kept(faulty: tuple[Project, Any]) -> None:
    made, _ = faulty
    found = rows(made, "07_model_output/baselines/scores.json")
    assert {key[0] for key in found} == {"Ours (untrained)"}
    assert {key[1:] for key in found} == {("sts", GOOD), ("sample_graded", "en")}
    assert all(value is not None for value in found.values())
    for method in ("untrained", "ease", "simcse"):
        own = made.json(f"07_model_output/multilingual/{method}/scores.json")
        assert ("sts", GOOD) in {(row["task"], row["subset"]) for row in own}
        assert ("sts", BAD) not in {(row["task"], row["subset"]) for row in own}


def test_a_baseline_is_scored_on_its_own_tasks(faulty: tuple[Project, Any], tmp_path: Path) -> None:
    made = faulty[0].copy(tmp_path / "copy")
    own = {"name": "own encoder", "tasks": "sample_graded"}
    given = {f"evaluate__baselines__Ours__{name}": value for name, value in own.items()}
    made.run("evaluate", "--namespaces=baselines", **given)
    found = rows(made, "07_model_output/baselines/scores.json")
    assert {key[1:] for key in found if key[0] == "Ours"} == {("sample_graded", "en")}


def test_the_bad_set_is_named_before_the_first_sentence_is_encoded(faulty: tuple[Project, Any]) -> None:
    _, done = faulty
    named, scored = (done.stderr.index(words) for words in ("2013 cannot be scored", "Scored "))
    assert named < scored


def test_each_encoder_is_logged_in_one_line_with_its_scores(faulty: tuple[Project, Any]) -> None:
    made, done = faulty
    lines = [line for line in done.stderr.splitlines() if "Scored " in line]
    for method in ("untrained", "ease", "simcse"):
        (line,) = (line for line in lines if f"multilingual/{method}/encoder" in line)
        scores = made.json(f"07_model_output/multilingual/{method}/scores.json")
        (graded,) = (row["value"] for row in scores if row["task"] == "sample_graded")
        assert f"sample_graded en {graded:.2f}" in line
        assert "not scored: sts 2013" in line
    (baseline,) = (line for line in lines if "Ours (untrained)" in line)
    assert "sample_graded en" in baseline
    assert "Scoring " not in done.stderr


def test_scores_of_a_stopped_run_are_not_computed_again(
    faulty: tuple[Project, Any], sets: Path, tmp_path: Path
) -> None:
    made = faulty[0].copy(tmp_path / "copy")
    kept = next((made.folder / "data" / "07_model_output" / "embeddings").glob("*.scores/sts-*.json"))
    model = kept.parent.name.removesuffix(".scores")
    kept.write_text(kept.read_text().replace('"note": ""', '"note": "kept"'), encoding="utf-8")
    evaluate(made, sets)
    methods = ("untrained", "ease", "simcse", "ease_plus")
    scores = [
        row for method in methods for row in made.json(f"07_model_output/multilingual/{method}/scores.json")
    ]
    assert [row for row in scores if row["note"] == "kept"], f"the scores of {model} were computed again"


def test_a_training_with_a_bad_development_set_is_refused_before_it_starts(
    project: Project, sets: Path, tmp_path: Path
) -> None:
    made = project.copy(tmp_path / "copy")
    given = {"multilingual__setting__dev_tasks": f"sts:{BAD}", "acquire_evaluation__folder": sets}
    made.run("acquire_evaluation", "--namespaces=multilingual", **given)
    done = made.run("train", "--namespaces=multilingual.simcse", check=False, **given)
    assert done.returncode == 1
    assert "The development task 'sts' cannot be scored" in done.stderr


class Limited(SentenceTransformer):
    """Asks for more memory than there is where a text mentions chess."""

    def encode(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        if any("chess" in text for text in inputs):
            return torch.empty(1 << 60)
        return super().encode(inputs, *arguments, **options)


def test_a_task_that_does_not_fit_in_memory_leaves_the_others(tmp_path: Path) -> None:
    (tmp_path / "stsb").mkdir()
    lines = [f"x\tx\tx\tx\t{grade}\tA man plays chess.\tHe plays {grade}." for grade in (1, 2, 3)]
    (tmp_path / "stsb" / "sts-test.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    graded = {"sentence1": ["a city", "a river"], "sentence2": ["a city", "people"], "score": [5.0, 1.0]}
    pq.write_table(pa.table(graded), tmp_path / "graded.parquet")
    tasks = {
        "stsb": {"path": str(tmp_path / "stsb"), "subsets": ["test"]},
        "sample_graded": {"path": str(tmp_path / "graded.parquet")},
    }
    located = locate_sets(list(tasks), tasks)
    encoder = Limited(modules=list(make_encoder()), device="cpu")
    scored = score_each(lambda name: encoder, "ours", list(tasks), located, tasks, EncodingOptions())
    assert [score.task for score in scored.scores] == ["sample_graded"]
    ((task, _, reason),) = scored.unscored
    assert task == "stsb"
    assert "not enough memory. A single sentence needs more" in reason
