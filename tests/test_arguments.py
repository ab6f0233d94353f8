"""The public functions refuse arguments of another type in one line, and accept every argument of the right type."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ease
from ease.arguments import Count, Seconds, checked
from ease.training.sentence_transformers import EntityContrastiveLoss
from tests.encoders.tiny import tiny_encoder

PAIRS = pd.DataFrame({"sentence": ["a", "b"], "entity": [1, 2]})


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("path", lambda: ease.read_dump(None)),  # type: ignore[arg-type]
        ("max_page_bytes", lambda: ease.read_dump("dump.xml", max_page_bytes="5 MB")),  # type: ignore[arg-type]
        ("max_page_seconds", lambda: ease.read_dump("dump.xml", max_page_seconds=float("nan"))),
        ("path", lambda: ease.read_templates(b"dump.xml")),  # type: ignore[arg-type]
        ("language", lambda: ease.parse_wikitext("a", language=None)),  # type: ignore[arg-type]
        ("title", lambda: ease.parse_wikitext("a", title=5)),  # type: ignore[arg-type]
        ("templates", lambda: ease.parse_wikitext("a", templates={1: 2})),  # type: ignore[dict-item]
        ("setting", lambda: ease.load(None)),  # type: ignore[arg-type]
        ("project", lambda: ease.open_search(project=5)),  # type: ignore[arg-type]
        ("model", lambda: ease.evaluate(["encoder"], "stsb")),  # type: ignore[arg-type]
        ("tasks", lambda: ease.evaluate("encoder", [1])),  # type: ignore[list-item]
        ("tasks", lambda: ease.evaluate("encoder", {5: {}})),  # type: ignore[dict-item]
        ("tasks", lambda: ease.evaluate("encoder", {"task": None})),  # type: ignore[dict-item]
        ("data", lambda: ease.evaluate("encoder", "stsb", data=5)),  # type: ignore[arg-type]
        ("batch_size", lambda: ease.evaluate("encoder", "stsb", batch_size=0)),
        ("method", lambda: ease.train(PAIRS, "random:", method=None)),  # type: ignore[arg-type]
        ("development", lambda: ease.train(PAIRS, "random:", development=["stsb"])),  # type: ignore[arg-type]
        ("model", lambda: ease.EntityContrastiveLoss("encoder", [[1.0]])),  # type: ignore[arg-type]
    ],
)
def test_an_argument_of_another_type_is_named(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ease.EaseError, match=f"^`{name}` of `.*: give ") as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("options", [{"path": None}, {"path": 5}, {"kind": None}, {"kind": 5}])
def test_an_option_of_a_task_is_named(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ease.EaseError, match=f"Options of the task 'stsb': .*{name}"):
        ease.evaluate("encoder", {"stsb": options})


@pytest.mark.parametrize("embeddings", [None, "a", [[1.0], [1.0, 2.0]], [1.0], [[]]])
def test_embeddings_of_another_form_are_refused(embeddings: Any) -> None:
    with pytest.raises(ease.EaseError, match="`embeddings` "):
        EntityContrastiveLoss(tiny_encoder(["a b"]), embeddings)


@pytest.mark.parametrize("entities", [5, "ab", ["a", "b"], [1.5, 2.5], [1, 1], [None, 1]])
def test_entities_of_another_form_are_refused(entities: Any) -> None:
    with pytest.raises(ease.EaseError, match="`entities`"):
        EntityContrastiveLoss(tiny_encoder(["a b"]), np.ones((2, 4)), entities)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("is a folder: name one dump in it", lambda: list(ease.read_dump(Path(__file__).parent))),
        (
            "Column 'entity' mixes types: give integers or strings",
            lambda: ease.train(PAIRS.assign(entity=[1, "a"] * (len(PAIRS) // 2)), "random:"),
        ),
        (
            "`entities` must be integers, not 'a'",
            lambda: EntityContrastiveLoss(tiny_encoder(["a b"]), np.ones((2, 4)), ["a", "b"]),  # type: ignore[list-item]
        ),
        ("'lr': did you mean learning_rate?", lambda: ease.train(PAIRS, "random:", lr=1e-5)),
        ("'bs': did you mean batch_size?", lambda: ease.train(PAIRS, "random:", bs=2)),
        ("'output_dir': did you mean folder?", lambda: ease.train(PAIRS, "random:", output_dir="a")),
    ],
)
def test_what_others_call_differently_is_refused_with_the_remedy(message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ease.EaseError, match=re.escape(message)):
        call()


def test_arguments_of_the_right_types_reach_the_function() -> None:
    @checked
    def count(path: str | Path, number: Count, /, *, seconds: Seconds = 1.0, **options: Any) -> list[Any]:
        return [path, number, seconds, options]

    path = Path("a")
    assert count(path, np.int64(3), seconds=2, further=None) == [path, 3, 2.0, {"further": None}]  # type: ignore[arg-type]
    assert count("a", 3) == ["a", 3, 1.0, {}]
    with pytest.raises(TypeError, match="missing"):
        count("a")  # type: ignore[call-arg]
    templates = MappingProxyType({"w": "argument: 1"})
    assert ease.parse_wikitext("{{w|a}}", templates=templates).text == "a"
