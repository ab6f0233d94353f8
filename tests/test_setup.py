"""The set-up installs packages; declared, locked and imported libraries, workflows and containers agree."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ease

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "system_packages.sh"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

COMMANDS = {
    "apt-get": "sudo apt-get install -y pkg-config libicu-dev g++",
    "dnf": "sudo dnf install -y pkgconf-pkg-config libicu-devel gcc-c++",
    "brew": "brew install pkgconf icu4c gcc",
    "conda": "conda install -c conda-forge pkg-config icu cxx-compiler",
}


class Machine:
    """A simulated machine without ICU, pkg-config and a compiler; its PATH has a few commands and those of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("sh", "sed", "head", "env", "cat", "chmod", "grep"):
            (folder / name).symlink_to(shutil.which(name) or name)
        # Python has its headers and venv.
        self.put("python3", f'echo "$@" | grep -q sys.version_info && echo {VERSION}; exit 0')
        self.put("id", "echo 1000")

    def put(self, name: str, body: str = "exit 1") -> None:
        """Add a command with a shell script as its body."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def check(self, what: str = "build", **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script with this machine's PATH and no other environment variables but `variables`."""
        command = [self.folder / "sh", SCRIPT, what, "python3"]
        environment = {"PATH": str(self.folder), **variables}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("manager", COMMANDS)
def test_prints_the_command_of_the_package_manager(machine: Machine, manager: str) -> None:
    machine.put(manager)
    result = machine.check()
    assert result.returncode == 1
    commands = [line.strip() for line in result.stderr.splitlines() if line.startswith("  ")]
    assert commands == [COMMANDS[manager]]


@pytest.mark.parametrize("privilege", ["root", "sudo"])
def test_installs_with_sufficient_privileges(machine: Machine, privilege: str) -> None:
    log = machine.folder / "log"
    made = " ".join(str(machine.folder / name) for name in ("pkg-config", "c++"))
    machine.put(
        "apt-get",
        f"""echo "$@" >> {log}
[ "$1" = install ] || exit 0
for name in {made}; do printf '#!/bin/sh\nexit 0\n' > $name; chmod +x $name; done""",
    )
    if privilege == "root":
        machine.put("id", "echo 0")
    else:
        machine.put("sudo", '[ "$1" = -n ] && shift; [ "$1" = true ] || exec "$@"')
    result = machine.check()
    assert result.returncode == 0, result.stderr
    update, install = log.read_text(encoding="utf-8").splitlines()
    assert update.startswith("update")
    assert install.endswith("pkg-config libicu-dev g++")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose virtual environment is up to date."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
        os.utime(tmp_path / name, (1_000_000_000, 1_000_000_000))
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("bin/python", ".installed", ".installed-dev"):
        (tmp_path / ".venv" / name).touch()
    return tmp_path


def planned(checkout: Path, goal: str) -> str:
    """Return the commands that make would run for a goal."""
    # Make passes its state to subprocesses in variables, and these tests may run under make.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--dry-run", goal]
    return subprocess.run(command, cwd=checkout, env=kept, capture_output=True, text=True, check=True).stdout


def test_bytecode_is_written_where_python_may_not_write_it(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = checkout / ".venv" / "lib" / "library"
    (library / "tests").mkdir(parents=True)
    files = [library / "used.py", library / "tests" / "test_used.py", library / "template.py"]
    for file, text in zip(files, ("import this", "import this", "{{ no Python }}"), strict=True):
        file.write_text(text, encoding="utf-8")
    python = checkout / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(sys.executable)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    command = ["make", "--no-print-directory", "compile"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
    assert [Path(cache_from_source(str(file))).exists() for file in files] == [True, False, False]


def test_setup_waits_for_bytecode_only_where_starts_write_none(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / ".venv" / ".installed").unlink()
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert re.search(r"; .*python -m compileall .*\|\| true$", planned(checkout, "setup"), re.MULTILINE)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")
    assert re.search(r"^\s*\(nice .*python -m compileall .*&\)", planned(checkout, "setup"), re.MULTILINE)


def test_installs_only_when_the_dependencies_change(checkout: Path) -> None:
    for goal in ("train", "test"):
        assert "pip install" not in planned(checkout, goal)
    assert "kedro run --pipelines=train_multilingual" in planned(checkout, "train")
    later = (checkout / ".venv" / ".installed").stat().st_mtime + 10
    for changed in ("pyproject.toml", "constraints.txt"):
        os.utime(checkout / changed, (later, later))
        assert "pip install" in planned(checkout, "train")
        assert "-c constraints.txt -e '.[demo,dev,docs,spark]'" in planned(checkout, "test")
        os.utime(checkout / changed, (1_000_000_000, 1_000_000_000))


def declared(*extras: str) -> list[Requirement]:
    """Return the requirements declared in pyproject.toml, with those of `project` and of further extras."""
    optional = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *(line for extra in ("project", *extras) for line in optional[extra])]
    requirements = map(Requirement, lines)
    # An extra may include another one.
    return [requirement for requirement in requirements if requirement.name != PROJECT["name"]]


def pins() -> dict[str, Requirement]:
    """Return the requirements of constraints.txt by the names of the libraries."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): pin for pin in found}


def test_declared_libraries_are_pinned_within_their_bounds() -> None:
    pinned = pins()
    for requirement in declared("demo", "dev", "spark", "gpu"):
        (specifier,) = pinned[canonicalize_name(requirement.name)].specifier
        assert specifier.operator == "=="
        assert requirement.specifier.contains(specifier.version), f"{requirement} has {specifier.version}"


def test_the_lock_has_the_pinned_versions_of_the_public_index() -> None:
    text = (ROOT / "uv.lock").read_text(encoding="utf-8")
    lock = tomllib.loads(text)
    locked = {one["name"]: one["version"] for one in lock["package"] if "version" in one}
    pinned = {name: str(pin.specifier).removeprefix("==") for name, pin in pins().items()}
    shared = pinned.keys() & locked.keys()
    assert {name for name in shared if pinned[name] != locked[name]} == set(), "run `make lock`"
    assert len(shared) > 200
    assert set(lock["requires-python"].split(", ")) == set(PROJECT["requires-python"].split(","))
    assert set(re.findall(r"\w+://[^/\"]+", text)) == {"https://pypi.org", "https://files.pythonhosted.org"}
    assert not re.search(r"\bpath = ", text), "a library from a folder"


def imported(folder: str) -> set[str]:
    """Return the top-level library modules that a folder's Python files import."""
    names: set[str] = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names.add(node.module)
    own = {"ease", "tests", "benchmarks", "scripts", "hatch_build"}
    with_torch = {"triton"}  # where there may be a GPU
    return {name.split(".")[0] for name in names} - sys.stdlib_module_names - own - with_torch


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "extras"),
    [("src", ["demo", "export", "spark"]), ("tests", ["spark", "dev"]), ("benchmarks", ["spark", "dev"])],
)
def test_imported_libraries_are_declared(folder: str, extras: list[str]) -> None:
    libraries = {canonicalize_name(requirement.name) for requirement in declared(*extras)}
    owners = packages_distributions()
    for module in sorted(imported(folder)):
        owner = {canonicalize_name(name) for name in owners.get(module, [])}
        assert owner & libraries, f"{folder} imports {module}, of {sorted(owner) or 'no library'}"


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DECLARED_PYTHONS = {
    classifier.rsplit(" ", 1)[1] for classifier in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", classifier)
}


def jobs(workflow: Path) -> dict[str, Any]:
    """Return the jobs of a workflow by their names."""
    return dict(yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"])


def steps_with(key: str) -> list[str]:
    """Return a value of all steps of all workflows, such as what they run."""
    every = [step for workflow in WORKFLOWS for job in jobs(workflow).values() for step in job["steps"]]
    return [step[key] for step in every if key in step]


def test_automation_makes_existing_goals() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    commands = [*steps_with("run"), container["postCreateCommand"]]
    commands += [attributes["label"] for attributes in container["portsAttributes"].values()]
    goals = {goal for command in commands for goal in re.findall(r"\bmake ([a-z-]+)", command)}
    assert {"setup-dev", "test", "test-all", "test-data", "docs", "lock"} <= goals
    done = subprocess.run(["make", "-n", *sorted(goals)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("workflow", "job"), [("checks", "test"), ("nightly", "test-all")])
def test_tests_run_with_every_declared_python(workflow: str, job: str) -> None:
    matrix = jobs(ROOT / ".github" / "workflows" / f"{workflow}.yml")[job]["strategy"]["matrix"]
    assert set(matrix["python"]) == DECLARED_PYTHONS


def test_image_copies_what_the_wheel_needs() -> None:
    copied = set()
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            copied |= set(line.split()[1:-1])
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    needed = {*targets["targets"]["wheel"]["force-include"], *targets["targets"]["wheel"]["packages"]}
    needed |= {PROJECT["readme"], *PROJECT["license-files"], "pyproject.toml"}
    assert {path.split("/")[0] for path in needed} <= copied
    permitted = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{name}" for name in copied} <= set(permitted)
    assert "conf/local" in permitted


def test_actions_and_images_are_pinned_by_their_hashes() -> None:
    used = steps_with("uses")
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []
    files = [(ROOT / name).read_text("utf-8") for name in ("Dockerfile", ".devcontainer/Dockerfile")]
    images = [line.split()[1] for line in "\n".join(files).splitlines() if line.startswith("FROM ")]
    assert [image for image in images if not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", image)] == []
    assert len(used) > len(images) > 2


OWN_NAME = re.compile(r"(?:install|add|download|--from)\s[^`#\n]*?\bease[-_]embeddings(?![-_]\*|-[0-9])")
"""An installation of the package by its name, from an index, instead of a wheel file."""
OWN_ADDRESS = re.compile(
    r"(?:git\+|git clone\s+|docker pull\s+)\S+|https?://(?:www\.)?pypi\.org/\S*ease[-_]embeddings\S*"
)
"""What a reader would fetch the project itself from."""


@pytest.mark.parametrize(
    ("text", "promises"),
    [
        ("pip install ease-embeddings", True),
        ("%pip install -q 'ease-embeddings[demo]'", True),
        ("uv add ease_embeddings", True),
        ('pip install -c constraints.txt "$(ls dist/ease_embeddings-*.whl)[project]"', False),
        ("git clone https://example.org/ease", True),
        ("pip install git+https://example.org/ease", True),
        ("The distribution is called `ease-embeddings`", False),
    ],
)
def test_a_promise_of_an_index_or_an_address_is_recognised(text: str, promises: bool) -> None:
    assert bool(OWN_NAME.search(text) or OWN_ADDRESS.search(text)) is promises


def test_documents_promise_no_index_and_no_address_that_does_not_exist() -> None:
    addresses = tuple(PROJECT.get("urls", {}).values())
    paths = [*ROOT.glob("*.md"), *(ROOT / "conf").glob("*.md"), *(ROOT / "docs").glob("*.md")]
    paths += [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "src").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    assert len(paths) > 200
    for path in paths:
        text = path.read_text(encoding="utf-8")
        fetched = [found[0] for found in OWN_ADDRESS.finditer(text) if not any(url in found[0] for url in addresses)]
        # The first upload to an index comes with the first address.
        by_name = [found[0] for found in OWN_NAME.finditer(text) if not addresses]
        assert [*fetched, *by_name] == [], path


def test_badges_have_the_declared_licence_and_pythons() -> None:
    pictures = ROOT / "docs" / "pictures"
    assert f"licence: {PROJECT['license']}" in (pictures / "licence.svg").read_text(encoding="utf-8")
    first, last = (f"3.{minor(sorted(DECLARED_PYTHONS, key=minor)[place])}" for place in (0, -1))
    assert f"Python: {first} to {last}" in (pictures / "pythons.svg").read_text(encoding="utf-8")


def minor(version: str) -> int:
    return int(version.partition(".")[2])


def test_citation_has_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == ease.__version__
    assert citation["license"] == PROJECT["license"]
