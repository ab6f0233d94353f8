"""The wheel contains all that a project needs: `ease-project` makes one, and `kedro run` works in it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

import ease
import hatch_build
from ease.project import create_project, package_name
from ease.project.__main__ import main
from hatch_build import CustomBuildHook
from tests.project import ROOT, SAMPLE

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
    assert f"{DECLARED['project']['name']}=={ease.__version__}" in made["requirements.txt"].decode()
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
