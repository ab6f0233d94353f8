"""The digest of code changes with its meaning, and not with its documentation or its place."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog
from kedro.io.core import Version
from kedro.pipeline import node, pipeline
from kedro.runner import SequentialRunner

from ease.datasets.files import JSONDataset
from ease.errors import EaseError
from ease.hooks.provenance import Provenance
from ease.io import code_digest as digests
from ease.methods import get_method, method_names
from ease.sample import write_sample
from ease.training.job import run_job
from ease.wikimedia.wikipedia import write_shard
from tests.project import ROOT


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package's sources, to be changed, whose digests are taken."""
    copy = tmp_path / "ease"
    shutil.copytree(ROOT / "src" / "ease", copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digests, "ROOT", copy)
    return copy


@pytest.fixture(autouse=True)
def _no_old_digests() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    digests._read.cache_clear()
    digests._reach.cache_clear()


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text, f"{file} has no {old!r}"
    file.write_text(text.replace(old, new), encoding="utf-8")


def digest_after(change: Callable[[], object], function: Callable[..., Any]) -> tuple[str, str]:
    """The digest of a function before and after a change."""
    before = digests.code_digest(function)
    change()
    forget()
    return before, digests.code_digest(function)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Parse a shard, write', '"""Parses a shard, writes'),
        ("tally = parser.tally\n", "tally = parser.tally  # complete\n"),
        (
            "import gc\n",
            "import gc\nimport logging\n\nlogger = logging.getLogger(__name__)\nlogger.info('loaded')\n",
        ),
    ],
)
def test_documentation_and_logs_do_not_change_the_digest(package: Path, old: str, new: str) -> None:
    file = package / "wikimedia" / "wikipedia" / "articles.py"
    before, after = digest_after(lambda: edit(file, old, new), write_shard)
    assert before == after


def test_a_moved_module_stays_in_the_digest(package: Path) -> None:
    def move() -> None:
        (package / "wikimedia" / "moved").mkdir()
        (package / "wikimedia" / "moved" / "__init__.py").touch()
        (package / "wikimedia" / "wikitext" / "parser.py").rename(
            package / "wikimedia" / "moved" / "prose_and_links.py"
        )
        for file in package.rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            moved = re.sub(
                r"\bease\.wikimedia\.wikitext\.parser\b", "ease.wikimedia.moved.prose_and_links", text
            )
            file.write_text(moved, encoding="utf-8")

    before, after = digest_after(move, write_shard)
    assert before == after
    file = package / "wikimedia" / "moved" / "prose_and_links.py"
    assert "def read_prose(" in file.read_text(encoding="utf-8")
    before, after = digest_after(
        lambda: edit(file, "def read_prose(", "def read_prose(extra: int, "), write_shard
    )
    assert before != after


@pytest.mark.parametrize(
    ("function", "file", "old", "new"),
    [
        (write_shard, "wikimedia/wikipedia.py", '== "redirect":', '!= "redirect":'),
        (write_shard, "wikimedia/wikitext/titles.py", "return", "return 1,"),
        (write_sample, "sample/templates/de.yml", "a", "b"),
        (run_job, "methods/mirror_bert.py", "return", "return 1,"),
        (run_job, "training/__main__.py", "status = 1", "status = 2"),
    ],
    ids=[
        "own module",
        "imported module",
        "data file",
        "module found by its name",
        "module started by its name",
    ],
)
def test_a_change_of_meaning_changes_the_digest(
    package: Path, function: Callable[..., Any], file: str, old: str, new: str
) -> None:
    before, after = digest_after(lambda: edit(package / file, old, new), function)
    assert before != after


def test_unused_code_does_not_change_the_digest(package: Path) -> None:
    for unrelated in ("reporting/plots/curves.py", "methods/simcse.py"):
        before, after = digest_after(lambda: edit(package / unrelated, "return", "return 1,"), write_shard)  # noqa: B023
        assert before == after
    before, after = digest_after(
        lambda: edit(package / "methods/ease.py", "return", "return 1,"), get_method("simcse")
    )
    assert before == after


def test_a_run_skips_outputs_of_documented_code_and_refuses_those_of_other_code(
    package: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made.json"

    def run(**options: Any) -> None:
        """Run a node with the hook as a `kedro run` does."""
        version = Version(None, f"2026-01-01T00.00.0{len(list(made.glob('*')))}.000Z")
        catalog = DataCatalog({"made": JSONDataset(filepath=str(made), version=version)})
        nodes = pipeline([node(method_names, None, "made")])
        manager = _create_hook_manager()
        manager.register(Provenance())
        manager.hook.before_pipeline_run(run_params=options, pipeline=nodes, catalog=catalog)
        SequentialRunner().run(nodes, catalog, manager, **options)

    source = package / "methods" / "__init__.py"
    run()
    edit(source, "Return the names of all methods", "List all methods")
    forget()
    run(only_missing_outputs=True)
    assert len(list(made.iterdir())) == 1
    edit(source, "module_names(__path__)", "[*module_names(__path__)]")
    forget()
    with pytest.raises(EaseError, match="`made` was made from other code"):
        run(only_missing_outputs=True)
