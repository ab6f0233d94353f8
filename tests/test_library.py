"""The public interface works without Kedro, as docs/library.md shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ease
from ease.wikimedia.wikitext.parser import parse_wikitext
from tests.project import ROOT, Project

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DOCUMENT = (ROOT / "docs/library.md").read_text("utf-8")
ANYWHERE, IN_A_PROJECT = (
    re.findall(r"```python\n(.*?)```", part, re.DOTALL) for part in DOCUMENT.split("## Trained encoders")
)


def test_the_documented_examples_run_in_a_clean_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in ANYWHERE:
        exec(example, names)
    printed = capsys.readouterr().out
    assert "Berlin is the capital of Germany." in printed
    assert "capital -> Capital city" in printed
    assert "Berlin | It lies on the Spree. | ['Spree']" in printed, "the dump"
    assert names["embeddings"].shape == (2, 16), "of the entities"
    assert re.search(r"own_parallel_sentences\s+phrases\s+retrieval_accuracy", printed)


def core_libraries(folder: Path) -> Path:
    """Fill a folder, named as pip names it, with links to what pip installs for the package without extras."""
    folder.mkdir()
    names = [Requirement(line) for line in DECLARED["project"]["dependencies"]]
    seen: set[str] = set()
    while names:
        requirement = names.pop()
        name = canonicalize_name(requirement.name)
        extras = ["", *requirement.extras]
        if name in seen or (requirement.marker and not any(requirement.marker.evaluate({"extra": e}) for e in extras)):
            continue
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # what torch has for other devices
        seen.add(name)
        names += map(Requirement, distribution.requires or ())
        for file in {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}:
            link = folder / file
            if not link.exists():
                link.symlink_to(Path(str(distribution.locate_file(file))))
    assert len(seen) < 60
    return folder


@pytest.mark.slow
def test_the_documented_examples_need_no_extra(tmp_path: Path) -> None:
    """Without PyICU, too, whose compilation needs a C++ compiler."""
    libraries = core_libraries(tmp_path / "site-packages")
    script = tmp_path / "examples.py"
    checks = (
        "import sys\nassert not {'icu', 'kedro', 'mlflow', 'ibis'} & set(sys.modules)\n"
        "ease.train(pairs, 'random:', method='dueam', batch_size=2, max_steps=1)\n"
    )
    script.write_text("\n".join([*ANYWHERE, checks]), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(libraries)])}
    # -S: without the environment's own packages
    command = [sys.executable, "-S", str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "Berlin | It lies on the Spree. | ['Spree']" in done.stdout, done.stderr
    assert "ot is not installed: the extra `project` of ease-embeddings adds it" in done.stderr


def test_the_documented_examples_run_with_a_trained_project(
    copy: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy.folder.rename(copy.folder.parent / "project")
    monkeypatch.chdir(copy.folder.parent)
    names: dict[str, Any] = {"ease": ease}
    for example in IN_A_PROJECT:
        exec(example, names)
    printed = capsys.readouterr().out
    assert "(2, 32)" in printed
    assert {found.language for found in names["search"].search("Yen", k=9, languages=["de", "ja"])} == {"de", "ja"}
    nearest = names["search"].nearest_entities("日本の通貨は円です。", k=1, reader="de")
    assert [entity.label in printed for entity in nearest] == [True]


def test_a_start_with_random_weights_is_the_same_in_every_call() -> None:
    pairs = pd.DataFrame({"sentence": ["Berlin is large.", "Paris is old."], "entity": ["Q64", "Q90"]})
    options = {"method": "simcse", "batch_size": 2, "max_steps": 1}
    first, again, other = (
        ease.train(pairs, "random:", seed=seed, **options).encode(["Paris is large."]) for seed in (1, 1, 2)
    )
    assert (first == again).all()
    assert not np.allclose(first, other)
    with pytest.raises(ease.EaseError, match="'random:bert' cannot be loaded: .* train `random:`"):
        ease.train(pairs, "random:bert")


def test_every_public_name_is_documented_and_found() -> None:
    for name in set(ease.__all__) - {"__version__"}:
        assert getattr(ease, name).__doc__
        assert f"ease.{name}" in DOCUMENT
    assert ease.parse_wikitext is parse_wikitext
    with pytest.raises(AttributeError, match="parse_wiki"):
        _ = ease.parse_wiki  # type: ignore[attr-defined]


def test_importing_ease_imports_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import ease; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert imported - sys.stdlib_module_names == {"ease"}
