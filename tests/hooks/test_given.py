"""Values of `--params` that end in a colon."""

from __future__ import annotations

import pytest

from tests.contexts import load_catalog
from tests.project import Project


@pytest.mark.parametrize("env", ["base", "paper"])
def test_a_value_that_ends_in_a_colon_is_that_text(bare: Project, env: str) -> None:
    given = {
        "acquire__wikipedia": "sample:",
        "acquire__wikidata": "sample:",
        "multilingual__setting__encoder__name": "random:",
    }
    catalog = load_catalog(bare, env, **given)
    acquire = catalog.load("params:acquire")
    assert (acquire.wikipedia, acquire.wikidata) == ("sample:", "sample:")
    assert catalog.load("params:multilingual.setting").encoder.name == "random:"


def test_a_null_is_a_null(bare: Project) -> None:
    catalog = load_catalog(bare, acquire__wikidata="null", evaluate__tasks="null")
    assert catalog.load("params:acquire").wikidata is None
    assert catalog.load("params:evaluate").tasks is None
