"""Values of `--params` that end in a colon, and values that other parameters refer to."""

from __future__ import annotations

import pytest

from ease.errors import EaseError
from tests.contexts import load_catalog
from tests.project import Project


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


@pytest.mark.parametrize("env", ["base", "paper"])
def test_a_random_encoder_keeps_its_configured_architecture(bare: Project, env: str) -> None:
    configured = load_catalog(bare, env).load("params:multilingual.setting").encoder
    named = load_catalog(bare, env, multilingual__setting__encoder="random:")
    encoder = named.load("params:multilingual.setting").encoder
    assert (encoder.name, encoder.pooling) == ("random:", "mean")
    assert encoder.random == configured.random


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
        ({"_dueam": "weakly"}, "`_dueam` is 'weakly': choose unsupervised or weakly_supervised"),
        ({"_duam": "unsupervised"}, "No parameter refers to `_duam`.* did you mean _dueam"),
    ],
)
def test_a_wrong_shared_value_is_refused(bare: Project, given: dict[str, str], expected: str) -> None:
    with pytest.raises(EaseError, match=expected):
        load_catalog(bare, **given)
