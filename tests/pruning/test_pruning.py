"""`make prune` lists what no kept version uses, and removes it when it is told to."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ease.io.cache_users import note_user
from ease.io.locks import folder_lock, lock_data_for_run
from ease.io.result_versions import EMBEDDINGS, WIKIPEDIA_PARTS

TIMES = [f"2026-01-0{day}T00.00.00.000Z" for day in (1, 2, 3)]
HASH = "0123456789abcdef" * 2


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
        """A version with its sidecar; without a name of the dataset it is of an older format."""
        made_from = {"inputs": {name.replace("__", "."): at for name, at in inputs.items()}}
        name = {"dataset": dataset} if dataset else {}
        self.file(f"{path}/{time}/provenance.json", json.dumps({**name, **made_from}))
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

    def prune(self, *arguments: str, check: bool = True) -> str:
        command = [sys.executable, "-m", "ease.pruning", *arguments]
        done = subprocess.run(command, cwd=self.project, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout + done.stderr


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
    caches = [data.file(f"07_model_output/embeddings/{name}{HASH}.sqlite") for name in ("", f"{EMBEDDINGS}-")]
    own = data.file("01_raw/dumps/enwiki-20240101-pages-articles.xml")
    before = sorted(data.folder.rglob("*"))
    listed = data.prune()
    assert [path for path in sorted(data.folder.rglob("*")) if path.name != ".in_use"] == before
    assert "4.0 kB  data/06_models/work/multilingual.ease:" in listed
    assert "may be removed: python -m ease.pruning --delete" in listed
    (data.project / "Makefile").touch()
    assert "may be removed: make prune ARGS=--delete" in data.prune()
    data.prune("--delete")
    assert [path.name for path in (data.folder / "03_primary/pairs.parquet").iterdir()] == [TIMES[2]]
    assert [path.exists() for path in (killed, work, *caches, unfinished, own)] == [
        *(False, False, False, True),
        *(True, True),
    ]
    assert "0 items of 0 B" in data.prune()


def test_inputs_of_the_newest_version_are_kept(data: Data) -> None:
    for time in TIMES:
        data.version("pairs", "03_primary/pairs.parquet", time)
        data.version("sentences", "02_intermediate/sentences", time)
    data.version("pairs", "03_primary/pairs.parquet", TIMES[0], sentences=TIMES[0])
    data.version("m.ease.encoder", "06_models/m/ease/encoder", TIMES[1], pairs=TIMES[0])
    data.prune("--delete")
    for path in ("03_primary/pairs.parquet", "02_intermediate/sentences"):
        assert sorted(folder.name for folder in (data.folder / path).iterdir()) == [TIMES[0], TIMES[2]]


def test_versions_of_an_older_format_are_matched_by_time(data: Data) -> None:
    for time in TIMES:
        data.version("", "03_primary/pairs.parquet", time)
    data.version("", "06_models/m/ease/encoder", TIMES[2], m__pairs=TIMES[1])
    data.prune("--delete")
    kept = sorted(folder.name for folder in (data.folder / "03_primary/pairs.parquet").iterdir())
    assert kept == TIMES[1:]


def test_parts_are_kept_while_a_kept_version_uses_them_or_an_ingest_is_unfinished(data: Data) -> None:
    used, superseded, unfinished, other, older = (
        data.part(name, "rows" * number)
        for number, name in enumerate(
            [
                *(f"en/{WIKIPEDIA_PARTS}-{HASH}", f"en/{WIKIPEDIA_PARTS}-{HASH[::-1]}"),
                *(f"de/{WIKIPEDIA_PARTS}-{HASH}", f"en/{WIKIPEDIA_PARTS + 1}-{HASH}", f"en/{HASH}"),
            ],
            start=1,
        )
    )
    data.sentences(TIMES[0], superseded)
    newest = data.sentences(TIMES[1], used)
    listed = data.prune("--delete")
    assert [part.exists() for part in (used, superseded, unfinished, other, older)] == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert f"data/02_intermediate/parts/de/{unfinished.name}: " in listed
    assert "--unfinished" in listed
    assert (newest / "rows" / "0.parquet").read_text() == "rows"
    data.prune("--delete", "--unfinished")
    assert not unfinished.exists()
    assert used.exists()


def test_samples_are_kept_while_a_kept_version_names_them(data: Data) -> None:
    samples = [
        data.file(f"01_raw/sample/{name}/manifest.json").parent for name in ("sample-1-ab", "sample-old")
    ]
    data.version("dumps", "01_raw/m/dumps.json", TIMES[0], f'["/former/data/{samples[1].name}/wikipedia"]')
    data.version("dumps", "01_raw/m/dumps.json", TIMES[1], f'["/data/{samples[0].name}/wikipedia"]')
    data.prune("--delete")
    assert [sample.exists() for sample in samples] == [True, False]


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
        data.file(f"07_model_output/embeddings/{EMBEDDINGS}-{key}.sqlite")
        data.file(f"07_model_output/embeddings/{key}.scores/stsb.json")
        for encoder in encoders:
            note_user(folder, key, encoder)
    gone.rmdir()
    assert f"{'f' * 32}.scores: nothing says which encoder" in data.prune("--delete")
    assert {path.name[0] for path in folder.glob("*.scores")} == {*"bdef"}
    assert len(list(folder.iterdir())) == 3 * 3 + 2
    data.prune("--delete", "--unfinished")
    assert {path.name[0] for path in folder.glob("*.scores")} == {*"bde"}


def test_search_indexes_are_removed_with_their_encoder(data: Data) -> None:
    older, newest = (data.version("m.ease.encoder", "06_models/m/ease/encoder", time) for time in TIMES[:2])
    gone, own = data.folder / "gone", data.file("own/encoder/config.json").parent
    gone.mkdir()
    search = data.folder / "07_model_output" / "search" / "m"
    users: dict[str, str | Path] = {
        "ease/older": older / "encoder",
        "ease/newest": newest / "encoder",
        "simcse/gone": gone,
        "simcse/locked": gone,
        "own/own": own,
        "hub/name": "organisation/name",
    }
    for name, encoder in users.items():
        data.file(f"07_model_output/search/m/{name}/index.json")
        note_user(search / name, HASH, encoder)
    unknown = data.file("07_model_output/search/m/ease/unknown/index.json").parent
    gone.rmdir()
    with folder_lock(search / "simcse/locked"):
        listed = data.prune("--delete")
    assert "search/m/ease/older: embeddings of an encoder that is no longer kept" in listed
    assert "search/m/ease/unknown: nothing says which encoder" in listed
    kept = {"ease/newest", "simcse/locked", "own/own", "hub/name"}
    assert {name for name in users if (search / name).exists()} == kept
    data.prune("--delete", "--unfinished")
    assert {name for name in users if (search / name).exists()} == kept - {"simcse/locked"}
    assert not unknown.exists()


def test_leftovers_of_a_killed_wikipedia2vec_are_removed(data: Data) -> None:
    left = data.file("06_models/work/wikipedia2vec.a1b2c3d4/dump.db").parent
    assert "06_models/work/wikipedia2vec.a1b2c3d4: " in data.prune("--delete")
    assert not left.exists()


def test_what_an_interrupted_step_resumes_from_is_kept(data: Data) -> None:
    kept = [
        "multilingual.ease/checkpoints/step-00000004/state.json",
        "multilingual.ease_plus/teacher/embeddings.sqlite",
        "multilingual.distill/a1-checkpoint.safetensors",
        "multilingual.student/targets-a1.npy",
        "multilingual.bitext/de-en-a1b2/counts.json",
    ]
    files = [data.file(f"06_models/work/{name}") for name in kept]
    removed = [
        data.file("06_models/work/.multilingual.ease.removed/model/config.json"),
        data.file("06_models/work/multilingual.texts/texts.parquet"),
    ]
    data.prune("--delete")
    assert [file for file in (*files, *removed) if file.exists()] == files


def test_nothing_is_removed_during_a_run_or_a_training(data: Data) -> None:
    for time in TIMES:
        data.version("pairs", "03_primary/pairs.parquet", time)
    lock = data.file("06_models/work/multilingual.ease/lock")
    with lock_data_for_run(data.folder):
        assert "Error: A run is active in" in data.prune("--delete", check=False)
        assert len(list((data.folder / "03_primary/pairs.parquet").iterdir())) == 3
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        data.prune("--delete")
        assert lock.exists()
    data.prune("--delete")
    assert not lock.exists()


def test_a_folder_that_is_no_project_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ease.pruning", "--delete"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "conf/base/globals.yml" in done.stderr
