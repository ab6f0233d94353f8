"""`make prune` lists what no kept version uses, and removes it when it is told to."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import chdir
from pathlib import Path

import mlflow
import pytest
from click.testing import CliRunner

from ease.encoders.encoding import EMBEDDINGS_VERSION
from ease.encoders.saved import note_user
from ease.hooks.mlflow_store import open_experiment, read_project_store
from ease.io.locks import folder_lock, lock_data_for_run
from ease.pruning import main
from tests.contexts import undisturbed
from tests.project import make_project

TIMES = [f"2026-01-0{day}T00.00.00.000Z" for day in (1, 2, 3)]
HASH = "0123456789abcdef" * 2


def prune(project: Path, *arguments: str) -> str:
    with chdir(project):
        return CliRunner().invoke(main, arguments).output


class Data:
    """A made data folder of a project."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.folder = project / "data"
        (project / "conf" / "base").mkdir(parents=True)
        (project / "conf" / "base" / "globals.yml").write_text("data: data\n")

    def file(self, path: str, content: str = "content") -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return file

    def version(self, dataset: str, path: str, time: str, content: str = "content", **inputs: str) -> Path:
        """A version with its sidecar."""
        self.file(f"{path}/{time}/provenance.json", json.dumps({"dataset": dataset, "inputs": inputs}))
        return self.file(f"{path}/{time}/{Path(path).name}", content).parent

    def part(self, name: str, content: str) -> Path:
        return self.file(f"02_intermediate/parts/{name}/sentences.parquet", content).parent

    def sentences(self, time: str, *parts: Path) -> Path:
        """A version of sentences that links to parts, as a run makes it."""
        folder = self.version("sentences", "02_intermediate/sentences/rows", time).parent / time
        (folder / "rows").unlink()
        (folder / "rows").mkdir()
        for number, part in enumerate(parts):
            os.link(part / "sentences.parquet", folder / "rows" / f"{number}.parquet")
        return folder

    def prune(self, *arguments: str) -> str:
        return prune(self.project, *arguments)


@pytest.fixture
def data(tmp_path: Path) -> Data:
    return Data(tmp_path)


def test_older_versions_and_leftovers_are_listed_and_removed(data: Data) -> None:
    for time in TIMES:
        data.version("pairs", "03_primary/pairs.parquet", time)
    killed = data.file(
        f"03_primary/pairs.parquet/{TIMES[2][:-4]}001Z/.pairs.parquet.scratch-here-1/pairs.parquet"
    ).parents[1]
    work = data.file("06_models/work/multilingual.ease/training_pairs.parquet", "x" * 4000).parent
    unfinished = data.file("06_models/work/multilingual.simcse/checkpoints/step-00000001/state.json")
    cache = data.file(f"07_model_output/embeddings/{EMBEDDINGS_VERSION}-{HASH}.sqlite")
    own = data.file("01_raw/dumps/enwiki-20240101-pages-articles.xml")
    before = sorted(data.folder.rglob("*"))
    listed = data.prune()
    assert [path for path in sorted(data.folder.rglob("*")) if path.name != ".in_use"] == before
    assert "4.0KB  data/06_models/work/multilingual.ease:" in listed
    assert "may be removed: python -m ease.pruning --delete" in listed
    data.prune("--delete")
    assert [path.name for path in (data.folder / "03_primary/pairs.parquet").iterdir()] == [TIMES[2]]
    assert not killed.exists()
    assert not work.exists()
    assert all(path.exists() for path in (cache, unfinished, own))
    assert "0 items of" in data.prune()


def test_inputs_of_the_newest_version_are_kept(data: Data) -> None:
    for time in TIMES:
        data.version("pairs", "03_primary/pairs.parquet", time)
        data.version("sentences", "02_intermediate/sentences", time)
    data.version("pairs", "03_primary/pairs.parquet", TIMES[0], sentences=TIMES[0])
    data.version("m.ease.encoder", "06_models/m/ease/encoder", TIMES[1], pairs=TIMES[0])
    data.prune("--delete")
    for path in ("03_primary/pairs.parquet", "02_intermediate/sentences"):
        assert sorted(folder.name for folder in (data.folder / path).iterdir()) == [TIMES[0], TIMES[2]]


def test_a_promoted_encoder_is_kept_with_its_history_and_inputs(data: Data) -> None:
    for time in TIMES:
        data.version("pairs", "03_primary/pairs.parquet", time)
        data.version("m.ease.encoder", "06_models/m/ease/encoder", time, pairs=time)
        data.version("m.ease.history", "06_models/m/ease/history.json", time)
        data.version("m.simcse.encoder", "06_models/m/simcse/encoder", time)
    (data.folder / "06_models/m/ease/latest").symlink_to(f"encoder/{TIMES[0]}/encoder")
    (data.folder / "06_models/m/simcse/latest").symlink_to("encoder/gone/encoder")
    data.prune("--delete")
    for path in ("03_primary/pairs.parquet", "06_models/m/ease/encoder", "06_models/m/ease/history.json"):
        assert sorted(folder.name for folder in (data.folder / path).iterdir()) == [TIMES[0], TIMES[2]]
    assert [folder.name for folder in (data.folder / "06_models/m/simcse/encoder").iterdir()] == [TIMES[2]]


def test_parts_are_kept_while_a_kept_version_uses_them_or_an_ingest_is_unfinished(data: Data) -> None:
    used, superseded, unfinished = (data.part(f"en/{name}", "rows" * number) for number, name in enumerate("abc"))
    data.sentences(TIMES[0], superseded)
    newest = data.sentences(TIMES[1], used)
    assert "en/c: no version uses it; it may belong to an unfinished run" in data.prune("--delete")
    assert [part.exists() for part in (used, superseded, unfinished)] == [True, False, True]
    assert (newest / "rows" / "0.parquet").is_file()
    data.prune("--delete", "--unfinished")
    assert [part.exists() for part in (used, unfinished)] == [True, False]


def test_embeddings_are_removed_with_their_last_encoder(data: Data, tmp_path: Path) -> None:
    older, newest = (data.version("m.ease.encoder", "06_models/m/ease/encoder", time) for time in TIMES[:2])
    gone, own = data.folder / "06_models" / "gone", data.file("own/encoder/config.json").parent
    folder = data.folder / "07_model_output" / "embeddings"
    users: dict[str, list[str | Path]] = {
        "a" * 32: [older / "encoder"],
        "b" * 32: [older / "encoder", newest / "encoder"],
        "c" * 32: [gone],
        "d" * 32: [own],
        "e" * 32: ["organisation/name"],
        "f" * 32: [],
    }
    gone.mkdir()
    for key, encoders in users.items():
        data.file(f"07_model_output/embeddings/{EMBEDDINGS_VERSION}-{key}.sqlite")
        data.file(f"07_model_output/embeddings/{key}.scores/stsb.json")
        for encoder in encoders:
            note_user(folder, key, encoder)
    gone.rmdir()
    assert f"{'f' * 32}.scores: no version uses it" in data.prune("--delete")
    assert {path.name[0] for path in folder.glob("*.scores")} == {*"bdef"}
    assert len(list(folder.iterdir())) == 3 * 3 + 2
    data.prune("--delete", "--unfinished")
    assert {path.name[0] for path in folder.glob("*.scores")} == {*"bde"}


def test_search_indexes_are_removed_with_their_encoder(data: Data) -> None:
    older, newest = (data.version("m.ease.encoder", "06_models/m/ease/encoder", time) for time in TIMES[:2])
    search = data.folder / "07_model_output" / "search" / "m"
    users = {"ease/older": older, "ease/newest": newest, "ease/locked": older}
    for name, version in users.items():
        data.file(f"07_model_output/search/m/{name}/index.json")
        note_user(search / name, HASH, version / "encoder")
    unknown = data.file("07_model_output/search/m/ease/unknown/index.json").parent
    with folder_lock(search / "ease/locked"):
        listed = data.prune("--delete")
    assert "search/m/ease/older: embeddings of an encoder that is no longer kept" in listed
    assert "search/m/ease/unknown: no version uses it" in listed
    assert {name for name in users if (search / name).exists()} == {"ease/newest", "ease/locked"}
    data.prune("--delete", "--unfinished")
    assert {name for name in users if (search / name).exists()} == {"ease/newest"}
    assert not unknown.exists()


def test_what_an_interrupted_step_resumes_from_is_kept(data: Data) -> None:
    kept = [
        "multilingual.ease/checkpoints/step-00000004/state.json",
        "multilingual.ease_plus/teacher/embeddings.sqlite",
        "multilingual.bitext/de-en-a1b2/counts.json",
    ]
    files = [data.file(f"06_models/work/{name}") for name in kept]
    removed = [
        data.file("06_models/work/.multilingual.ease.removed/model/config.json"),
        data.file("06_models/work/multilingual.texts/texts.parquet"),
    ]
    data.prune("--delete")
    assert [file for file in (*files, *removed) if file.exists()] == files


def test_scratch_folders_of_other_machines_are_removed_by_age_and_lock_wherever_they_are(data: Data) -> None:
    places = ("06_models/work/multilingual.report", "08_reporting/.latest.html", "05_model_input/evaluation/fetched")
    old = [data.file(f"{place}.scratch-4f2a9c-0123456789ab/model/file").parents[1] for place in places]
    fresh, held = (data.file(f"06_models/work/x.scratch-{machine}-01/model/file").parents[1] for machine in "ab")
    for folder in (*old, held):
        (folder / "lock").touch()
        for path in (*folder.rglob("*"), folder):
            os.utime(path, times=(0, 0))
    with (held / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        listed = data.prune("--delete")
    assert f"{places[1]}.scratch-4f2a9c-0123456789ab: left by a run that was killed" in listed
    assert [folder.exists() for folder in (*old, fresh, held)] == [False, False, False, True, True]


def test_what_only_looks_like_scratch_does_not_end_the_list(data: Data) -> None:
    file = data.file("06_models/.e.scratch-other-file")
    locked_by_a_folder = data.file("06_models/work/x.scratch-4f2a9c-01/lock/file").parents[1]
    for path in (file, *locked_by_a_folder.rglob("*"), locked_by_a_folder):
        os.utime(path, times=(0, 0))
    assert "x.scratch-4f2a9c-01: left by a run" in data.prune()
    assert file.exists()


def test_nothing_is_removed_during_a_run_or_a_training(data: Data) -> None:
    for time in TIMES:
        data.version("pairs", "03_primary/pairs.parquet", time)
    lock = data.file("06_models/work/multilingual.ease/lock")
    with lock_data_for_run(data.folder):
        assert "Error: A run is active in" in data.prune("--delete")
        assert len(list((data.folder / "03_primary/pairs.parquet").iterdir())) == 3
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        data.prune("--delete")
        assert lock.exists()
    data.prune("--delete")
    assert not lock.exists()


@pytest.mark.slow
def test_artifacts_of_deleted_mlflow_runs_are_removed_and_a_broken_store_keeps_them(tmp_path: Path) -> None:
    project = make_project(tmp_path).folder
    with undisturbed(), chdir(project):
        experiment = open_experiment(read_project_store(project), project)
        folders = []
        for _ in range(2):
            with mlflow.start_run(experiment_id=experiment.experiment_id) as run:
                mlflow.log_text("content", "name.txt")
            folders.append(project / "data/08_reporting/mlflow_artifacts" / run.info.run_id)
        mlflow.delete_run(folders[0].name)
        assert f"{folders[0].relative_to(project)}: plots and models of a run that was deleted" in prune(project)
        database = project / "data/08_reporting/mlflow.db"
        content = database.read_bytes()
        database.write_text("not a database")
        assert "MLflow's plots and models are kept: MLflow cannot open the store" in prune(project, "--delete")
        database.write_bytes(content)
        assert "1 items of" in prune(project, "--delete")
        assert [folder.exists() for folder in folders] == [False, True]
