"""Published figures: reading of papers, references of columns and models, and refused files."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ease.reporting.published import Published, Source
from tests.reporting.made import own, paper, published, row


def test_averages_refer_to_the_scores_that_they_are_over() -> None:
    table_1 = paper().sources("1", "7 STS avg.")
    assert [(source.task, source.subset) for source in table_1] == [
        *(("sts", str(year)) for year in range(2012, 2017)),
        ("stsb", "test"),
        ("sickr", "test"),
    ]
    assert paper().sources("6", "Avg.") == tuple(
        Source("mldoc", code, "accuracy") for code in ("de", "es", "fr", "it", "ja", "ru", "zh")
    )
    assert paper().sources("6", "en (dev)") == (Source("mldoc", "en", "development_accuracy"),)


def test_a_variant_of_a_sweep_has_its_own_counterpart() -> None:
    models = published().root["mirror_bert"].models
    about = {"base": "roberta-base", "pooling": "cls", "sweep": "ablation"}
    like = {
        method: [
            name
            for name in published().root["mirror_bert"].tables["20"].rows
            if own([row("sts", "2012", 60.0, method=method, **about)])[0].is_like(models[name])
        ]
        for method in ("mirror_bert", "mirror", "- dropout", "no dropout", "ease")
    }
    assert like == {
        "mirror_bert": ["RoBERTa + Mirror"],
        "mirror": ["RoBERTa + Mirror"],
        "- dropout": ["RoBERTa + Mirror - dropout"],
        "no dropout": ["RoBERTa + Mirror - dropout & span mask"],
        "ease": [],
    }


def small_paper(**changes: Any) -> dict[str, Any]:
    """Return a paper with one table, with the given changes."""
    table = {
        "title": "T",
        "score": "accuracy",
        "metric": "accuracy",
        "columns": [
            {"header": "a", "task": "stc", "subset": "agnews"},
            {"header": "Avg.", "mean_of": ["a"]},
        ],
        "rows": {"M": [1.0, 1.0]},
        **changes,
    }
    return {"citation": "C", "short": "S", "models": {"M": {"base": "B"}}, "tables": {1: table}}


ONE = {"header": "a", "task": "stc", "subset": "agnews"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": {"M": [1.0]}}, "has 2 columns, but its row 'M' has 1 scores"),
        ({"rows": {"X": [1.0, 1.0]}}, "rows without an entry in `models`: \\['X'\\]"),
        ({"columns": [ONE, {"header": "Avg.", "mean_of": ["b"]}]}, "'T' has no column 'b'"),
        ({"columns": [ONE, {"header": "Avg.", "mean_of": ["Avg."]}]}, "'Avg.' of S refers to itself"),
        (
            {"columns": [ONE, {"header": "Avg.", "mean_of": ["a"], "table": "9"}]},
            "refers to table 9, which does",
        ),
        ({"columns": [ONE, {"header": "b", "task": "stc"}]}, "'b' needs either"),
        ({"columns": [ONE, {**ONE, "header": "b", "mean_of": ["a"]}]}, "'b' needs either"),
        ({"columns": [ONE, ONE]}, "columns of the same name: a, a"),
        ({"metric": ""}, "needs `metric`"),
        ({"colour": "red"}, "Extra inputs are not permitted"),
    ],
)
def test_a_wrong_table_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Published.model_validate({"small": small_paper(**changes)})
