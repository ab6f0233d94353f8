"""Every registered pipeline and every method, run at the paper's scale on small inputs: `make rehearse`.

`make test` does not collect a file of this name; it has `test_short.py`. Each command reads the data of those before.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ease.pipelines.setting import SETTINGS
from tests.contexts import all_pipelines
from tests.documented import documented_commands
from tests.project import SWEEPS, Project
from tests.rehearsal.made_inputs import RELEASED
from tests.rehearsal.rehearsed import make_rehearsed, rehearse

FIRST = ("train_multilingual", "train_monolingual", "train", "evaluate")
"""Pipelines that make the inputs of the others."""

NOT_ALONE = ("__default__", "sweep")
"""Another name of `train_multilingual`, and the pipeline of all sweeps, each of which is run."""

VARIATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "Wikipedia2Vec": (
        "entity_embeddings",
        {
            "entity_embeddings__source": "train",
            **{
                f"entity_embeddings__wikipedia2vec__{name}": 1
                for name in ("pool_size", "min_word_count", "min_entity_count", "min_paragraph_len")
            },
        },
    ),
    **{
        f"msimcse {strategy}": ("train", {"multilingual__msimcse__options__strategy": strategy})
        for strategy in ("unsupervised", "cross_lingual_nli", "parallel", "mixture")
    },
    "dueam weakly supervised": ("train", {"_dueam": "weakly_supervised"}),
    **{f"mirror_bert {level}": ("train", {"_mirror_bert": level}) for level in ("phrase", "word")},
    "XLM-R": ("train_multilingual", {"multilingual__setting__encoder__name": "xlm-roberta-base"}),
    "RoBERTa": (
        "train_monolingual",
        {"monolingual__setting__encoder__name": "roberta-base", "monolingual__setting__encoder__pooling": "cls"},
    ),
    "released pairs": ("released_pairs", {"multilingual__pairs__released": RELEASED}),
    "the sample as dumps": ("train_monolingual", {"acquire__wikipedia": "sample:", "acquire__wikidata": "sample:"}),
}
"""Variations that the comments of `conf/paper` and the documents mention; `train` for one method.

Those of `train` come first: they read the start of the settings' own encoders, which the others replace.
"""


def namespaces(name: str) -> list[str]:
    """Return the argument that selects the method of a variation of `train`, or the setting of released pairs."""
    pipeline, _ = VARIATIONS[name]
    if pipeline == "released_pairs":
        return ["--namespaces=multilingual"]
    if pipeline != "train":
        return []
    method = name.split()[0]
    settings = ["multilingual"] if method == "msimcse" else SETTINGS
    return ["--namespaces=" + ",".join(f"{setting}.{method}" for setting in settings)]


def pipelines() -> list[str]:
    """Return the registered pipelines in an order in which the inputs of each exist; two of them need a parameter."""
    others = [name for name in all_pipelines() if name not in (*FIRST, *NOT_ALONE, "released_pairs")]
    return [*FIRST, *others]


@pytest.fixture(scope="module")
def project(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("rehearsal")
    os.environ["HF_HUB_CACHE"] = str(folder / "hub")  # before the process that commands are forked from starts
    yield make_rehearsed(folder, test_data)
    del os.environ["HF_HUB_CACHE"]


@pytest.mark.parametrize("name", pipelines())
def test_the_pipeline_runs_to_its_end(project: Project, name: str) -> None:
    rehearse(project, name, start=False)


@pytest.mark.parametrize("name", SWEEPS)
def test_the_sweep_runs_to_its_end(project: Project, name: str) -> None:
    rehearse(project, "sweep", start=False, sweep=name)


@pytest.mark.parametrize("name", VARIATIONS)
def test_the_variation_runs_to_its_end(project: Project, name: str) -> None:
    pipeline, given = VARIATIONS[name]
    rehearse(project, pipeline, *namespaces(name), start=False, **given)


def commands_of_one_method() -> list[tuple[str, ...]]:
    """Return the commands of docs/papers.md that select namespaces: they make the encoders of its analyses."""
    commands = [one.words for one in documented_commands() if one.document == "docs/papers.md"]
    return [words for words in commands if any(word.startswith("--namespaces=") for word in words)]


@pytest.mark.parametrize("words", commands_of_one_method(), ids=shlex.join)
def test_the_command_before_an_analysis_runs_to_its_end(project: Project, words: tuple[str, ...]) -> None:
    options = dict(word.split("=", maxsplit=1) for word in words if word.startswith("--") and "=" in word)
    changed = words[words.index("--params") + 1].split(",") if "--params" in words else []
    given = {name.replace(".", "__"): value for name, _, value in (one.partition("=") for one in changed)}
    namespaces = f"--namespaces={options['--namespaces']}"
    rehearse(project, options["--pipelines"], namespaces, start=False, **given)


@pytest.mark.parametrize("name", ["analysis", "analysis_monolingual"])
def test_the_analysis_compares_the_encoders_of_these_commands(project: Project, name: str) -> None:
    rehearse(project, name, start=False)
