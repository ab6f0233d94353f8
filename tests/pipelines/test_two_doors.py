"""`kedro run` and `ease.train` train the same: the same job, and the same losses, without any option."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

from ease.encoders.options import RANDOM, EncoderOptions
from ease.methods import method_names, method_record
from ease.pipelines import tracked_training
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
from ease.pipelines.tracking import TrackingOptions
from ease.pipelines.train.nodes import train_encoder
from ease.pipelines.work import release_work
from ease.training.api import train
from ease.training.job import run_job
from ease.training.options import TrainingJob
from tests.contexts import load_catalog
from tests.project import Project
from tests.training.tiny_training import sentences, write_files

STEPS = 10
"""After so many steps, which are reported together, a training run has shown its losses."""

DUMPS: dict[str, Any] = {"source": "sample:", "wikipedia": [], "wikidata": None}


class Stop(Exception):
    """Ends a training run whose losses are known."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny pretrained encoder, 640 pairs with every text column, an entity vocabulary and its embeddings."""
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    pairs = pq.read_table(folder / "pairs.parquet").to_pandas()
    pairs = pairs.loc[pairs.index.repeat(4)].reset_index(drop=True)
    pairs = pairs.assign(pair_id=range(len(pairs)), positive=pairs["sentence"], negative=pairs["sentence"][::-1].values)
    pairs.to_parquet(folder / "pairs.parquet")
    return folder


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[TrainingJob]]:
    """Collects the jobs of both doors, none of which is run."""
    collected: list[TrainingJob] = []

    def collect(job: TrainingJob, *others: Any) -> None:
        collected.append(job)
        raise Stop

    yield from _replaced_run_job(monkeypatch, collect, collected)


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, float]]]:
    """Collects the losses of the first steps of the training runs of both doors."""
    collected: list[dict[str, float]] = []

    def report(step: int, values: dict[str, float]) -> None:
        if "loss" in values:
            collected.append({name: value for name, value in values.items() if "loss" in name or "rate" in name})
            raise Stop

    def run(job: TrainingJob, _: object, lock: Any) -> None:
        run_job(job, report, lock)

    yield from _replaced_run_job(monkeypatch, run, collected)


def _replaced_run_job(monkeypatch: pytest.MonkeyPatch, run: Callable[..., None], collected: list[Any]) -> Iterator[Any]:
    @contextmanager
    def untracked(*_: object) -> Iterator[str]:
        yield "no run"

    monkeypatch.setattr("ease.training.job.run_job", run)
    monkeypatch.setattr("ease.training.api.run_job", run)
    monkeypatch.setattr(tracked_training, "training_run", untracked)
    yield collected
    release_work(succeeded=False)


def train_by_kedro(project: Project, files: Path, folder: Path, encoder: str, method: str) -> None:
    """Train by the node of the pipelines, with the parameters of the project's configuration."""
    catalog = load_catalog(project)
    setting: Setting = catalog.load("params:multilingual.setting")
    setting = setting.model_copy(update={"dev_tasks": ()})
    if encoder != RANDOM:
        start = EncoderOptions(name=encoder, seed=setting.encoder.seed)
        setting = setting.model_copy(update={"encoder": start})
    recipe: Recipe = catalog.load(f"params:multilingual.{method}")
    texts = ibis.memtable({"text": sentences(), "page_id": range(40), "sentence_index": range(40), "language": "en"})
    tracked_training.write_encoder(texts, setting, folder / "start")
    entities: dict[str, Any] = {}
    if method_record(method).reads_entities:
        entities["vocabulary"] = ibis.read_parquet(files / "vocabulary.parquet")
        entities["entity_embeddings"] = files / "table.safetensors"
    with pytest.raises(Stop):
        train_encoder(
            recipe=recipe,
            setting=setting,
            encoders=catalog.load("params:encoders"),
            encoding=catalog.load("params:encoding"),
            tracking=TrackingOptions(log_model=False),
            work=str(folder / "work"),
            tasks={},
            evaluation_data={},
            dumps=DUMPS,
            starting_encoder=folder / "start",
            rows=ibis.read_parquet(files / "pairs.parquet"),
            **entities,
        )


def train_by_library(files: Path, encoder: str, method: str) -> None:
    """Train by `ease.train` without options."""
    embeddings = None
    if method_record(method).reads_entities:
        vocabulary = pq.read_table(files / "vocabulary.parquet").sort_by("row")
        table = load_file(files / "table.safetensors")["embeddings"]
        embeddings = dict(zip(vocabulary["entity"].to_pylist(), table, strict=True))
    with pytest.raises(Stop):
        train(files / "pairs.parquet", encoder, method, entity_embeddings=embeddings)


def encoder_name(files: Path, encoder: str) -> str:
    if encoder == RANDOM:
        return encoder
    return str(files / encoder)


@pytest.mark.parametrize("encoder", [RANDOM, "encoder"])
@pytest.mark.parametrize("method", ["ease", "ease_plus", "simcse"])
def test_both_doors_have_equal_losses(
    bare: Project, files: Path, tmp_path: Path, losses: list[dict[str, float]], method: str, encoder: str
) -> None:
    name = encoder_name(files, encoder)
    train_by_kedro(bare, files, tmp_path, name, method)
    train_by_library(files, name, method)
    by_kedro, by_library = losses
    assert by_kedro == by_library


@pytest.mark.parametrize("encoder", [RANDOM, "encoder"])
@pytest.mark.parametrize("method", method_names())
def test_both_doors_have_equal_parameters(
    bare: Project, files: Path, tmp_path: Path, jobs: list[TrainingJob], method: str, encoder: str
) -> None:
    name = encoder_name(files, encoder)
    train_by_kedro(bare, files, tmp_path, name, method)
    train_by_library(files, name, method)
    by_kedro, by_library = (job.model_dump(include={"method_options", "training"}) for job in jobs)
    for role in ("teacher", "guide"):
        # A folder of embeddings changes no result; a project has one for all.
        caches = [parameters["training"][role].pop("cache") for parameters in (by_kedro, by_library)]
        assert caches == [Path("data/07_model_output/embeddings"), None]
    assert by_kedro == by_library
