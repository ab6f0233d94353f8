"""Discovery of methods and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import ease.methods
from ease.errors import EaseError
from ease.methods import method_names, method_options
from ease.methods.base import TOTAL
from tests.methods.made import ENTITIES, build, floats, inputs


@pytest.mark.parametrize("name", method_names())
def test_every_method_s_total_is_a_number_that_depends_on_every_sentence(name: str) -> None:
    method = build(name)
    sentences = floats(1, len(method.views), 4, 6).requires_grad_()
    total = method(inputs(sentences, ENTITIES))[TOTAL]
    assert total.shape == ()
    if not method.views:  # it reads tokens alone
        assert total.requires_grad
        return
    (gradient,) = torch.autograd.grad(total, sentences)
    assert torch.isfinite(gradient).all()
    assert (gradient.abs().sum(-1) > 0).all()


def test_reads_entities_is_found_in_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ease.methods, "__path__", [str(tmp_path)])
    lines = {"one": "reads_entities = True", "two": "reads_entities: ClassVar[bool] = True", "none": "pass"}
    for name, line in lines.items():
        (tmp_path / f"{name}.py").write_text(f"class Mine:\n    {line}\n", encoding="utf-8")
        assert ease.methods.reads_entities(name) == (name != "none")


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
