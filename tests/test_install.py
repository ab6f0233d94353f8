"""The wheel contains all that a project needs: `ease-project` makes one, and `kedro run` works in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pandas as pd
import pytest
from click.testing import CliRunner

import ease
import hatch_build
from ease.project import create_project, package_name
from ease.project.__main__ import main
from ease.texts.pairs import PREPARATION
from hatch_build import CustomBuildHook
from tests.documented import FENCE
from tests.project import ROOT, SAMPLE, params

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
Done = subprocess.CompletedProcess[str]


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the contents of a folder's files by their relative paths."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_command(*command: str | Path, cwd: Path, library: Path | None = None) -> Done:
    """Run a command with a folder of libraries that takes precedence over the checkout."""
    environment = {**os.environ, "DO_NOT_TRACK": "true", "COLUMNS": "200"}
    if library:
        environment["PYTHONPATH"] = str(library)
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built where Cython is not installed."""
    folder = tmp_path_factory.mktemp("wheel")
    without = tmp_path_factory.mktemp("without")
    (without / "Cython").mkdir()
    (without / "Cython" / "__init__.py").write_text("raise ImportError('no Cython')", encoding="utf-8")
    options = ("-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder)
    done = run_command(sys.executable, "-m", "pip", "wheel", *options, ROOT, cwd=folder, library=without)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def library(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the wheel is installed without its dependencies."""
    folder = tmp_path_factory.mktemp("library")
    options = ("-q", "--no-deps", "--no-index", "--target", folder)
    done = run_command(sys.executable, "-m", "pip", "install", *options, wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("compiler", [True, False])
@pytest.mark.parametrize("version", ["standard", "editable"])
def test_compiled_modules_are_installed_and_a_failed_compilation_is_reported(
    version: str, compiler: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compile_modules(root: Path, folder: Path) -> dict[Path, Path]:
        if not compiler:
            raise SystemExit("no compiler")
        built = {source: folder / f"{source.stem}.cpython-311.so" for source in hatch_build.SOURCES}
        for file in built.values():
            file.write_text("new")
        return built

    monkeypatch.setattr(hatch_build, "compile_modules", compile_modules)
    earlier = [(tmp_path / source).with_suffix(".cpython-311.so") for source in hatch_build.SOURCES]
    for file in earlier:
        file.parent.mkdir(parents=True)
        file.write_text("old")
    data: dict[str, Any] = {"force_include": {}}
    CustomBuildHook(str(tmp_path), {}, None, None, str(tmp_path), "wheel").initialize(version, data)
    found = [file.read_text() for file in earlier if file.is_file()]
    # The modules of an earlier installation in the checkout may have other code.
    assert found == (["old"] * 2 if version == "standard" else ["new"] * 2 if compiler else [])
    names = [f"ease/wikimedia/{name}.cpython-311.so" for name in ("dumps/_bz2_decoder", "wikitext/passes")]
    included = names if compiler and version == "standard" else []
    assert list(data.pop("force_include").values()) == included
    assert data == ({"pure_python": False, "infer_tag": True} if included else {})
    assert ("are not compiled (SystemExit: no compiler)" in "".join(capsys.readouterr())) is not compiler


@pytest.mark.slow
def test_wheel_has_the_configuration_but_no_local_values(wheel: Path) -> None:
    assert wheel.name == f"ease_embeddings-{ease.__version__}-py3-none-any.whl"
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        shipped = {name.removeprefix("ease/project/") for name in names if "/project/conf/" in name}
    there = {f"conf/{name}" for name in files_of(ROOT / "conf") if not name.startswith("local/")}
    assert shipped == there
    assert not any("test" in name.split("/")[0] for name in names)


@pytest.mark.slow
def test_a_new_project_of_the_installed_wheel_ingests_the_sample(library: Path, tmp_path: Path) -> None:
    made = run_command(library / "bin" / "ease-project", "mine", cwd=tmp_path, library=library)
    assert made.returncode == 0, made.stderr
    assert made.stdout == "Made a project in mine. Next, in that folder: kedro run\n"
    project = tmp_path / "mine"
    where = run_command(sys.executable, "-c", "import ease; print(ease.__file__)", cwd=project, library=library)
    assert where.stdout.startswith(str(library))
    given = f"{SAMPLE},multilingual.setting.languages=en"
    run = ("-m", "kedro", "run", "--pipelines=acquire,ingest", "--params", given)
    done = run_command(sys.executable, *run, cwd=project, library=library)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Done: 5 nodes" in done.stderr
    assert [*project.glob("data/02_intermediate/multilingual/sentences/*/sentences/*.parquet")]
    show = ("-m", "kedro", "parameters", "multilingual.ease.training.learning_rate")
    shown = run_command(sys.executable, *show, cwd=project, library=library)
    assert shown.stdout.startswith("multilingual.ease.training.learning_rate = 0.003\n"), shown.stderr


FILE_NAME = re.compile(r"# ([\w./]+\.(?:py|yml))\n")
"""First line of a block of code in the documents that is a complete file of a project."""


def write_documented(document: str, project: Path) -> list[str]:
    """Write the files of a project that a document shows, as they are; return their paths."""
    blocks = {}
    for block in FENCE.findall((ROOT / document).read_text(encoding="utf-8")):
        if name := FILE_NAME.match(block):
            blocks[name[1]] = block
    for path, block in blocks.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(block, encoding="utf-8")
    return list(blocks)


@pytest.fixture(scope="module")
def extended(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of the installed wheel with the pipeline, method, task and sweep of the documents, and its tables."""
    folder = tmp_path_factory.mktemp("extended")
    made = run_command(library / "bin" / "ease-project", "my-project", cwd=folder, library=library)
    assert made.returncode == 0, made.stderr
    project = folder / "my-project"
    kedro(project, library, "pipeline", "create", "word_counts")
    package = "src/my_project"
    assert write_documented("CONTRIBUTING.md", project) == [
        f"{package}/mine.py",
        f"{package}/pipeline_registry.py",
        "conf/base/parameters/methods/mine.yml",
        f"{package}/pipelines/word_counts/nodes.py",
        f"{package}/pipelines/word_counts/pipeline.py",
        "conf/base/parameters_word_counts.yml",
        "conf/base/catalog/word_counts.yml",
    ]
    assert write_documented("docs/evaluation.md", project) == ["conf/base/parameters/tasks/headlines.yml"]
    assert write_documented("docs/experiments.md", project) == ["conf/base/parameters/sweeps/rates.yml"]
    for language in ("en", "sw"):
        headlines = project / "data" / "01_raw" / "evaluation" / "headlines" / language / "test.tsv"
        headlines.parent.mkdir(parents=True)
        rows = [f"A {kind} story, number {number}\t{kind}\n" for kind in ("sport", "weather") for number in range(9)]
        headlines.write_text("headline\tcategory\n" + "".join(rows), encoding="utf-8")
    prepare = ("run", "--pipelines=train_multilingual", f"--tags={PREPARATION}")
    kedro(project, library, *prepare, "--params", params(evaluate__tasks="headlines"))
    return project


def kedro(project: Path, library: Path, *arguments: str) -> Done:
    done = run_command(sys.executable, "-m", "kedro", *arguments, cwd=project, library=library)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def newest(project: Path, path: str) -> Path:
    """Return the newest version of a dataset below `data`."""
    return max((project / "data" / path).glob(f"*/{Path(path).name}"))


@pytest.mark.long
@pytest.mark.slow
def test_an_own_pipeline_reads_its_own_parameter(extended: Path, library: Path) -> None:
    kedro(extended, library, "run", "--pipelines=word_counts", "--params", params(word_counts__minimum=40))
    counts = pd.read_csv(extended / "data" / "08_reporting" / "word_counts.csv")
    assert counts["count"].is_monotonic_decreasing
    assert counts["count"].min() >= 40


@pytest.mark.long
@pytest.mark.slow
def test_an_own_method_is_trained_in_two_processes_and_scored_on_an_own_task(extended: Path, library: Path) -> None:
    loop = {"max_steps": 4, "batch_size": 16, "evaluate_every": 4, "processes": 2}
    given: dict[str, Any] = {f"multilingual__mine__training__{name}": value for name, value in loop.items()}
    given["evaluate__tasks"] = "headlines"
    run = ("run", "--pipelines=train,evaluate", "--namespaces=multilingual.mine")
    kedro(extended, library, *run, "--params", params(**given))
    scores = json.loads(newest(extended, "07_model_output/multilingual/mine/scores.json").read_text(encoding="utf-8"))
    assert {(row["task"], row["subset"]) for row in scores} == {("headlines", name) for name in ("average", "en", "sw")}


@pytest.mark.long
@pytest.mark.slow
def test_an_own_sweep_trains_its_variants_or_one_of_them(extended: Path, library: Path) -> None:
    run = ("run", "--pipelines=sweep", "--params")
    kedro(extended, library, *run, params(sweep="rates", sweeps__rates__seeds=1))
    table = "08_reporting/multilingual/sweeps/rates.parquet"
    assert set(pd.read_parquet(newest(extended, table))["variant"]) == {"start", "slow", "fast"}
    kedro(extended, library, *run, params(sweep__name="rates", sweep__only="[fast]"))
    assert set(pd.read_parquet(newest(extended, table))["model"]) == {"fast seed=1", "fast seed=2"}


def test_a_project_has_the_configuration_of_the_checkout(tmp_path: Path) -> None:
    create_project(tmp_path / "a" / "b")
    made = files_of(tmp_path / "a" / "b")
    assert {name for name in made if name.startswith("conf/local/")} == {"conf/local/.gitkeep"}
    for name, content in files_of(ROOT / "conf").items():
        if not name.startswith("local/"):
            assert made[f"conf/{name}"] == content
    assert made["constraints.txt"] == (ROOT / "constraints.txt").read_bytes()
    assert made[".telemetry"] == (ROOT / ".telemetry").read_bytes()
    declared = {**DECLARED["tool"]["kedro"], "package_name": "b", "project_name": "b"}
    assert tomllib.loads(made["pyproject.toml"].decode())["tool"]["kedro"] == declared
    assert f"{DECLARED['project']['name']}[project]=={ease.__version__}" in made["requirements.txt"].decode()
    assert "VERSION" not in made["README.md"].decode()
    data = {f"data/{path.name}" for path in (ROOT / "data").glob("0*")}
    assert {name.removesuffix("/.gitkeep") for name in made if name.startswith("data/")} == data


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("my-project", "my_project"),
        ("2026 runs", "project_2026_runs"),
        ("torch", "project_torch"),
        ("if", "project_if"),
    ],
)
def test_a_package_is_named_after_the_folder_and_hides_no_other(folder: str, name: str, tmp_path: Path) -> None:
    assert package_name(tmp_path / folder) == name


def test_a_folder_with_other_files_and_a_place_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    (file := tmp_path / "notes.txt").touch()
    for folder, message in {
        tmp_path: f"{tmp_path} contains notes.txt: choose a new or an empty folder for the project.",
        file: f"{file} cannot be read as a folder (Not a directory): choose a new or an empty folder",
        Path("/proc/ease"): "Cannot write to /proc/ease (",
    }.items():
        done = CliRunner().invoke(main, [str(folder)])
        assert done.exit_code == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"Error: {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
