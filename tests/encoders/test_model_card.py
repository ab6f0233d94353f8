"""The model card: YAML that the hub accepts, and every fact that a user needs."""

from __future__ import annotations

import yaml
from huggingface_hub import ModelCard

from ease.encoders.model_card import WIKIDATA_LICENCE, DataSource, ModelCardData, model_card

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
        parameters={"method": {"temperature": 0.05}, "training": {"steps": None}},
        scores={"sts|dev": 71.234},
        embedding="128 dimensions.",
    )


def test_the_front_matter_is_the_hubs() -> None:
    card = ModelCard(write())
    fields = card.data.to_dict()
    assert fields["language"] == ["en", "ja"]
    assert fields["license"] == "cc-by-sa-4.0"
    assert fields["library_name"] == "sentence-transformers"
    assert fields["pipeline_tag"] == "sentence-similarity"
    assert fields["base_model"] == "bert-base-multilingual-cased"
    assert "ease" in fields["tags"]


def test_facts_of_data_parameters_and_scores_are_told() -> None:
    text = write()
    assert "| Wikipedia (en) | 20260101 | CC BY-SA 4.0 (until June 2023: 3.0) and GFDL |" in text
    assert "| Wikidata | 20260105 | CC0 1.0 |" in text
    assert "with the method `ease`. It learns." in text
    assert "| `method.temperature` | 0.05 |" in text
    assert "| `training.steps` | None |" in text
    assert "| sts\\|dev | 71.23 |" in text
    assert 'SentenceTransformer("path/to/this/folder")' in text


def test_what_is_unknown_is_left_out() -> None:
    text = model_card(ModelCardData(), method="simcse", summary="", parameters={})
    front = yaml.safe_load(text.split("---")[1])
    assert "language" not in front
    assert "base_model" not in front
    assert "## Scores" not in text
    assert "## Languages" not in text
