"""Discovery of methods and their options."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

import ease.methods
from ease.errors import EaseError
from ease.methods import get_method, method_names, method_options
from ease.methods.base import TOTAL, TrainingMethod
from tests.methods.made import ENTITIES, build, encoder, floats, inputs
from tests.project import ROOT


def test_methods_are_the_files_of_the_package() -> None:
    files = {path.stem for path in Path(ease.methods.__path__[0]).glob("*.py")}
    assert set(method_names()) == files - {"__init__", "base"}
    assert {"ease", "simcse"} <= set(method_names())


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


def test_a_method_without_title_or_summary_is_refused_at_definition() -> None:
    with pytest.raises(TypeError, match="The method Bare lacks Options, title, summary"):
        type("Bare", (TrainingMethod,), {})


@pytest.mark.parametrize(
    ("line", "reads"),
    [("reads_entities = True", True), ("reads_entities: ClassVar[bool] = True", True), ("", False)],
)
def test_reads_entities_is_found_in_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, reads: bool
) -> None:
    (tmp_path / "mine.py").write_text(f"class Mine:\n    {line or 'pass'}\n", encoding="utf-8")
    monkeypatch.setattr(ease.methods, "__path__", [str(tmp_path)])
    assert ease.methods.reads_entities("mine") == reads


def test_the_guide_to_a_new_method_names_every_attribute() -> None:
    guide = (
        (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Add a training method")[1].split("\n## ")[0]
    )
    own = {name for name in {*TrainingMethod.__annotations__, *vars(TrainingMethod)} if name[0] != "_"}
    assert {"Options", "reads_entities", "required", "derived_columns", "build", "forward"} <= own
    assert {name for name in own if f"`{name}`" not in guide} == set()


@pytest.mark.parametrize(
    ("name", "hint"), [("eaes", "did you mean ease"), ("word2vec", "Choose from .*ease, ")]
)
def test_an_unknown_method_names_the_choices(name: str, hint: str) -> None:
    with pytest.raises(EaseError, match=hint):
        get_method(name)


def test_a_renamed_option_is_refused_with_its_new_name() -> None:
    with pytest.raises(EaseError, match="`hard_negative_bonus` was renamed: use `hard_negative_weight`"):
        method_options("ease", {"hard_negative_bonus": 1.0})


def test_faulty_options_are_named() -> None:
    with pytest.raises(EaseError, match="'ease'.*temperature: Input should be greater than 0"):
        method_options("ease", {"temperature": -1})
    with pytest.raises(EaseError, match="no field `tau`.*it has entity_weight"):
        method_options("ease", {"tau": 1})
    with pytest.raises(EaseError, match="Nothing is left to train"):
        method_options("ease", {"entity_weight": 0, "self_supervised": False})
    with pytest.raises(EaseError, match="Nothing is left to train"):
        method_options("ease_plus", {"entity_weight": 0, "self_supervised": False})
    with pytest.raises(ValidationError, match="linear"):
        get_method("ease").Options.model_validate({"projection": "quadratic"})
    with pytest.raises(EaseError, match="needs entity embeddings"):
        get_method("ease").build(method_options("ease", {}), encoder(), None)
