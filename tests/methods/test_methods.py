"""Discovery of methods and their options."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ease.errors import EaseError
from ease.methods import MethodRecord, get_method, method_names, method_options, method_record, records, register
from ease.methods.base import TOTAL
from ease.methods.simcse import Simcse
from tests.methods.made import ENTITIES, build, floats, inputs


class Mine(Simcse):
    """A method outside the package."""


@pytest.mark.parametrize("name", method_names())
def test_every_method_s_total_is_a_number_that_depends_on_every_sentence(name: str) -> None:
    method = build(name)
    views = method.reads(method.options).views
    sentences = floats(1, len(views), 4, 6).requires_grad_()
    total = method(inputs(sentences, ENTITIES))[TOTAL]
    assert total.shape == ()
    if not views:  # it reads tokens alone
        assert total.requires_grad
        return
    (gradient,) = torch.autograd.grad(total, sentences)
    assert torch.isfinite(gradient).all()
    assert (gradient.abs().sum(-1) > 0).all()


@pytest.mark.parametrize("name", method_names())
def test_a_record_agrees_with_its_class(name: str) -> None:
    method, record = get_method(name), method_record(name)
    assert method.reads(method.Options()).entities == record.reads_entities
    assert method.__module__ == record.implementation.partition(":")[0]


def test_a_method_of_another_package_is_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_registered", {**records._registered})
    record = MethodRecord(name="mine", title="Mine", summary="", implementation="tests.methods.test_methods:Mine")
    register(record)
    register(record)
    assert "mine" in method_names()
    assert get_method("mine") is Mine
    with pytest.raises(EaseError, match="There is a training method 'ease' already"):
        register(record.model_copy(update={"name": "ease"}))


@pytest.mark.parametrize(
    ("implementation", "said"),
    [
        ("tests.nowhere:Mine", "cannot be imported .No module named 'tests.nowhere'"),
        ("tests.methods.test_methods:Yours", "cannot be imported"),
        ("tests.methods.test_methods:pytest", "is not a subclass of `TrainingMethod`"),
    ],
)
def test_a_record_without_a_class_is_refused(implementation: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_registered", {})
    register(MethodRecord(name="lost", title="Lost", summary="", implementation=implementation))
    with pytest.raises(EaseError, match=said):
        get_method("lost")


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("eaes", {}, "did you mean ease"),
        ("ease", {"temperature": -1}, "'ease'.*temperature: Input should be greater than 0"),
        ("ease", {"entity_weight": 0, "self_supervised": False}, "Nothing is left to train"),
    ],
)
def test_unknown_methods_and_faulty_options_are_named(name: str, values: dict[str, Any], said: str) -> None:
    with pytest.raises(EaseError, match=said):
        method_options(name, values)
