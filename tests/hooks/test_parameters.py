"""Values of `--params` that end in a colon, and values that other parameters refer to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ease.errors import EaseError
from ease.evaluation.tasks import get_task
from tests.contexts import load_catalog
from tests.project import Project, make_project


@pytest.mark.parametrize("env", ["base", "paper"])
def test_a_value_with_a_trailing_colon_is_text(bare: Project, env: str) -> None:
    given = {
        "acquire__wikipedia": "sample:",
        "acquire__wikidata": "sample:",
        "multilingual__setting__encoder__name": "random:",
    }
    catalog = load_catalog(bare, env, **given)
    acquire = catalog.load("params:acquire")
    assert (acquire.wikipedia, acquire.wikidata) == ("sample:", "sample:")
    assert catalog.load("params:multilingual.setting").encoder.name == "random:"


def test_the_code_of_norwegian_is_not_a_truth_value(tmp_path: Path) -> None:
    made = make_project(tmp_path)
    text = "multilingual: {setting: {languages: [en, no]}}\nteach: {language: no, companions: [en]}\n"
    text += "audit: {pivot: no}\n"
    (tmp_path / "conf" / "local" / "parameters.yml").write_text(text, encoding="utf-8")
    catalog = load_catalog(made)
    assert catalog.load("params:multilingual.setting").languages == ("en", "no")
    assert catalog.load("params:teach.setting").languages == ("no", "en")
    assert catalog.load("params:audit").pivot == "no"


def test_one_word_or_number_is_a_list_of_one(bare: Project) -> None:
    given = {
        "tasks__tnews__subsets": "test_public",
        "tasks__pawsx__learning_rates": 0.1,
        "publish__forms": "onnx",
        "multilingual__setting__languages": "en",  # the groups of `analysis.language_identity` follow
    }
    catalog = load_catalog(bare, **given)
    tasks = catalog.load("params:tasks")
    assert dict(get_task("tnews").Options(**tasks["tnews"]))["subsets"] == ("test_public",)
    assert dict(get_task("pawsx").Options(**tasks["pawsx"]))["learning_rates"] == (0.1,)
    assert catalog.load("params:publish").forms == ("onnx",)
    assert catalog.load("params:multilingual.setting").languages == ("en",)


def test_the_engine_of_a_file_computes_the_tables_too(tmp_path: Path) -> None:
    made = make_project(tmp_path)
    (tmp_path / "conf" / "local" / "parameters.yml").write_text("engine: spark", encoding="utf-8")
    pairs: Any = load_catalog(made).get("multilingual.pairs")
    assert pairs._connection_config["backend"] == "pyspark"


def test_a_null_is_a_null(bare: Project) -> None:
    catalog = load_catalog(bare, acquire__wikidata="null", evaluate__tasks="null")
    assert catalog.load("params:acquire").wikidata is None
    assert catalog.load("params:evaluate").tasks is None


@pytest.mark.parametrize("env", ["base", "paper"])
def test_a_shared_value_changes_what_refers_to_it(bare: Project, env: str) -> None:
    usual = load_catalog(bare, env).load("params:multilingual.dueam").data
    assert {source["form"] for source in usual} == {"shuffled"}
    chosen = load_catalog(bare, env, _dueam="weakly_supervised").load("params:multilingual.dueam").data
    assert {source["form"] for source in chosen} == {"premise_hypothesis"}
    words = load_catalog(bare, env, _mirror_bert="word").load("params:multilingual.mirror_bert")
    assert (words.options["temperature"], words.options["span"]) == (0.2, 0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"_dueam": "weakly"}, "`_dueam` 'weakly': .*weakly_supervised"),
        ({"_duam": "unsupervised"}, "No parameter refers to `_duam`.* did you mean _dueam"),
    ],
)
def test_a_wrong_shared_value_is_refused(bare: Project, given: dict[str, str], expected: str) -> None:
    with pytest.raises(EaseError, match=expected):
        load_catalog(bare, **given)
