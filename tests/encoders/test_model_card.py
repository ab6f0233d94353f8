"""The model card has YAML that the hub accepts, and lists data, parameters and scores."""

from __future__ import annotations

import re
from pathlib import Path

from huggingface_hub import ModelCard

from ease.encoders.check import base_model_of, start_of
from ease.encoders.model_card import WIKIDATA_LICENCE, DataSource, ModelCardData, model_card, with_test_scores

DATA = ModelCardData(
    name="A model",
    languages=("en", "ja"),
    sources=(
        DataSource(name="Wikipedia (en)", date="20260101"),
        DataSource(name="Wikidata", date="20260105", licence=WIKIDATA_LICENCE),
    ),
    base_model="bert-base-multilingual-cased",
)


def write() -> str:
    return model_card(
        DATA,
        method="ease",
        summary="It learns.",
        parameters={"method": {"temperature": 0.05}, "training": {"max_steps": None}},
        scores={"sts|dev": 71.234},
        embedding="128 dimensions.",
    )


def test_the_card_answers_each_of_mtebs_questions_about_openness() -> None:
    from mteb.models import model_meta

    asked = model_meta.ModelMeta.create_empty().openness
    rows = re.findall(r"(?m)^\| (.+?) +\| (.+?) +\|$", write().partition("## Openness")[2])
    answers = dict(rows[2:])
    assert set(answers) == set(asked)
    assert answers["open license"].strip("`") in model_meta.OPEN_LICENSES


def test_test_scores_are_added_and_replaced_one_by_one() -> None:
    once = with_test_scores(write(), {"stsb/test": 70.0, "sts17/en-de": 50.0})
    twice = with_test_scores(once, {"stsb/test": 71.5})
    assert "| `stsb/test` | 71.50 |" in twice
    assert "| `sts17/en-de` | 50.00 |" in twice
    assert "70.00" not in twice
    noted = with_test_scores(twice, {}, ["stsb:test", "sts17:en-ar"])
    assert "Not held out, since it chose the checkpoint: `stsb/test`.\n" in noted
    assert with_test_scores(noted, {}) == twice
    assert ModelCard(twice).data.to_dict() == ModelCard(write()).data.to_dict()


def test_an_encoder_in_a_folder_is_named_by_the_hub_never_by_its_path(tmp_path: Path) -> None:
    cached = tmp_path / "models--organisation--name" / "snapshots" / "abc"
    configured, carded, unknown = (tmp_path / name for name in ("configured", "carded", "unknown"))
    for folder in (cached, configured, carded, unknown):
        folder.mkdir(parents=True)
    (configured / "config.json").write_text('{"_name_or_path": "organisation/configured"}', encoding="utf-8")
    (carded / "config.json").write_text('{"_name_or_path": "/root/cache/name/"}', encoding="utf-8")
    (carded / "README.md").write_text(write(), encoding="utf-8")
    (unknown / "README.md").write_text("No metadata.", encoding="utf-8")
    found = [base_model_of(str(folder)) for folder in (cached, configured, carded, unknown)]
    assert found == ["organisation/name", "organisation/configured", DATA.base_model, None]
    assert start_of(str(carded)) == f"`carded`, based on `{DATA.base_model}`"
    assert (base_model_of("random:"), start_of("random:")) == (None, "random weights")
    assert base_model_of("organisation/name") == "organisation/name"
