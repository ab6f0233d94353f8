"""Our models: gathered from rows, averaged over seeds and subsets, and matched with rows of papers."""

from __future__ import annotations

from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest

from ease.reporting.own import OwnModel
from ease.reporting.published import Model, Source
from tests.reporting.made import EASE_ROW, baseline, own, paper, row, sts17


def test_rows_are_grouped_into_models_with_their_inputs() -> None:
    found = [(model.label, model.origin, model.model) for model in own()]
    assert found == [
        ("SimCSE, multilingual", "here, 1 seed", "2026-01-02T01.00.00.000Z"),
        ("EASE, multilingual", "here, 1 seed", "2026-01-02T03.04.05.678Z"),
        ("EASE, multilingual (sweep seeds, 3 seeds)", "here, 3 seeds", "sweep seeds"),
        ("MiniLM", "here", "sentence-transformers/all-MiniLM-L6-v2"),
    ]
    assert own([]) == []


@pytest.mark.parametrize(
    ("about", "origin"),
    [
        ({"method": "untrained"}, "here"),
        ({"method": "untrained", "base": "random:"}, "here, 1 seed"),
        ({"method": "ease", "seed": 3}, "here, 1 seed"),
        ({"setting": "baselines", "method": "x"}, "here"),
    ],
)
def test_seeds_are_counted_if_weights_depend_on_them(about: dict[str, object], origin: str) -> None:
    (model,) = own([row("stsb", "test", 70.0, **about)])
    assert model.origin == origin


def table_2(model: OwnModel) -> tuple[Any, Any]:
    measured = model.measure(paper().sources("2", "Avg."))
    return measured.mean, measured.deviation


def test_an_average_is_over_all_of_its_scores_and_each_seed() -> None:
    _, newest, sweep, minilm = own()
    assert table_2(newest) == (pytest.approx(fmean(EASE_ROW)), None)
    means = [fmean(EASE_ROW) + shift for shift in (-0.4, 0.2, 0.5)]
    assert table_2(sweep) == (pytest.approx(fmean(means)), pytest.approx(stdev(means)))
    assert table_2(minilm) == (None, None)
    assert len(minilm.measure(paper().sources("2", "Avg.")).missing) == 9


def test_the_deviation_of_an_average_is_over_the_averages_of_seeds() -> None:
    rows = [
        row("stsb", subset, value, seed=seed)
        for seed, values in ((1, (10.0, 30.0)), (2, (30.0, 10.0)))
        for subset, value in zip(("dev", "test"), values, strict=True)
    ]
    (model,) = own(rows)
    both = [Source("stsb", subset, "spearman") for subset in ("dev", "test")]
    assert model.measure(both)[:2] == (20, 0)
    single = model.measure(both[:1])
    assert single.mean == 20
    assert single.deviation == pytest.approx(np.std([10, 30], ddof=1))


def test_an_average_without_some_subsets_is_not_comparable() -> None:
    source = Source("tatoeba", "average_others", "retrieval_accuracy")
    (whole,) = own([row(*source[:2], 26.0, source.metric)])
    (partial,) = own([row(*source[:2], 26.0, source.metric, note="90 of 95 subsets")])
    assert (whole.measure([source]).comparable, partial.measure([source]).comparable) == (True, False)
    assert partial.measure([source]).note == "90 of 95 subsets"
    (noted,) = own([row("stsb", "test", 26.0, note="3 pairs left out")])
    assert noted.measure([Source("stsb", "test", "spearman")]).comparable


def likeness(name: str, given: dict[str, object]) -> bool:
    (model,) = own([given])
    published: Model = paper().models[name]
    return model.is_like(published)


def test_a_counterpart_shares_method_encoder_and_pooling() -> None:
    ours = sts17()[0]
    assert likeness("EASE-mBERTbase", ours)
    assert not likeness("EASE-XLM-Rbase", ours)
    assert not likeness("SimCSE-mBERTbase", ours)
    assert likeness("EASE-mBERTbase w/o hard negative", {**ours, "method": "w/o hard negative"})
    bert = {**ours, "base": "bert-base-uncased", "method": "untrained"}
    assert likeness("BERTbase (avg.)", bert)
    assert not likeness("BERTbase (vanilla)", bert)
    assert likeness("BERTbase (vanilla)", {**bert, "pooling": "cls_mlp_train"})


def test_a_baseline_is_known_by_its_published_name() -> None:
    glove = "/models/average_word_embeddings_glove.6B.300d"
    assert likeness("GloVe embeddings (avg.)", baseline("stsb", "test", 58.0, model=glove, base=glove))
    assert not likeness("GloVe embeddings (avg.)", baseline("stsb", "test", 58.0))
    mbert = baseline("stsb", "test", 40.0, base="bert-base-multilingual-cased")
    assert likeness("mBERTbase (avg.)", mbert)
    assert not likeness("EASE-mBERTbase", mbert)
