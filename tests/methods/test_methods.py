"""Discovery of methods, their options, and EASE's terms against the losses that they are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

import ease.methods
from ease.errors import EaseError
from ease.losses import entity_loss, excluded_candidates, self_supervised_loss
from ease.methods import TOTAL, Entities, TrainingMethod, get_method, method_names, method_options

ENTITIES = Entities(torch.tensor([2, 0, 2, 4]), torch.tensor([1, -1, 3, 0]))


def floats(seed: int, *shape: int) -> Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), dtype=torch.float32)


def build(name: str = "ease", **values: Any) -> TrainingMethod:
    torch.manual_seed(0)
    return get_method(name).build(method_options(name, values), 6, floats(0, 5, 3))


def test_methods_are_the_files_of_the_package() -> None:
    files = {path.stem for path in Path(ease.methods.__path__[0]).glob("*.py")}
    assert set(method_names()) == files - {"__init__", "base"}
    assert {"ease", "simcse"} <= set(method_names())


@pytest.mark.parametrize("name", method_names())
def test_every_method_builds_with_its_defaults_and_gives_a_total(name: str) -> None:
    terms = build(name)(floats(1, 2, 4, 6), ENTITIES)
    assert torch.isfinite(terms[TOTAL])


@pytest.mark.parametrize(("name", "hint"), [("eaes", "did you mean ease"), ("bert", "There are ease")])
def test_an_unknown_method_names_the_choices(name: str, hint: str) -> None:
    with pytest.raises(EaseError, match=hint):
        get_method(name)


def test_faulty_options_are_named() -> None:
    with pytest.raises(EaseError, match="'ease'.*temperature: Input should be greater than 0"):
        method_options("ease", {"temperature": -1})
    with pytest.raises(EaseError, match="tau: Extra inputs are not permitted.*It takes entity_weight"):
        method_options("ease", {"tau": 1})
    with pytest.raises(EaseError, match="Nothing is left to train"):
        method_options("ease", {"entity_weight": 0, "self_supervised": False})
    with pytest.raises(ValidationError, match="linear"):
        get_method("ease").Options.model_validate({"projection": "quadratic"})
    with pytest.raises(EaseError, match="entity table to start from"):
        get_method("ease").build(method_options("ease", {}), 6, None)


@pytest.mark.parametrize("projection", ["linear", "tanh"])
def test_the_total_is_the_weighted_sum_of_equation_4(projection: str) -> None:
    method = build(entity_weight=0.25, temperature=0.5, projection=projection, hard_negative_bonus=1.0)
    sentences = floats(1, 2, 4, 6)
    terms = method(sentences, ENTITIES)
    linear: Any = method.projection
    rows = floats(0, 5, 3) @ linear.weight.T
    if projection == "tanh":
        rows = (rows + linear.bias).tanh()
    excluded = excluded_candidates(*ENTITIES)
    negatives = rows[ENTITIES.hard_negatives]
    expected = entity_loss(
        sentences[0],
        rows[ENTITIES.positives],
        negatives,
        0.5,
        excluded=excluded,
        hard_negative_bonus=1.0,
    )
    itself = self_supervised_loss(sentences[0], sentences[1], 0.05)
    assert torch.allclose(terms["entity_loss"], expected)
    assert torch.allclose(terms["self_loss"], itself)
    assert torch.allclose(terms[TOTAL], 0.25 * expected + itself)


def test_hard_negatives_can_be_off_or_missing_everywhere() -> None:
    sentences = floats(1, 2, 4, 6)
    none_there = Entities(ENTITIES.positives, torch.full((4,), -1))
    off = build(hard_negatives=False)(sentences, ENTITIES)
    assert torch.allclose(build()(sentences, none_there)["entity_loss"], off["entity_loss"])
    assert off["entity_loss"] < build()(sentences, ENTITIES)["entity_loss"]


def test_one_view_is_enough_without_the_self_supervised_term() -> None:
    method = build(self_supervised=False)
    assert method.views == 1
    terms = method(floats(1, 1, 4, 6), ENTITIES)
    assert set(terms) == {TOTAL, "entity_loss"}


def test_masking_leaves_out_other_pairs_of_the_same_entity() -> None:
    sentences = floats(1, 2, 4, 6)
    masked = build(mask_same_entity=True)(sentences, ENTITIES)["entity_loss"]
    assert masked < build()(sentences, ENTITIES)["entity_loss"]
