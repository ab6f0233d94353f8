"""Our models, and the papers' tables with them: groups, means over seeds, best scores, differences, footnotes."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest

from ease.evaluation.items import mean_items
from ease.evaluation.resampling import with_intervals
from ease.evaluation.score_cache import write_items
from ease.evaluation.scores import Score
from ease.reporting.comparison import ComparisonRow, ComparisonTable, build_plain_table, build_table
from ease.reporting.own import gather_models
from ease.reporting.published import ScoreKey
from tests.reporting.made import EASE_ROW, baseline, own, paper, published, row, sts17


def test_seeds_are_counted_if_weights_depend_on_them() -> None:
    rows = [row("stsb", "test", 70.0, method="untrained", base=base) for base in ("bert-base-cased", "random:")]
    assert [model.origin for model in own(rows)] == ["here", "here, 1 seed"]


def test_a_counterpart_shares_method_encoder_and_pooling() -> None:
    bert = {"base": "bert-base-uncased", "method": "untrained"}
    for name, changes, alike in (
        ("EASE-mBERTbase", {}, True),
        ("SimCSE-mBERTbase", {}, False),
        ("EASE-mBERTbase w/o hard negative", {"method": "w/o hard negative"}, True),
        ("BERTbase (vanilla)", bert, False),
        ("BERTbase (vanilla)", {**bert, "pooling": "cls_mlp_train"}, True),
    ):
        (model,) = own([{**sts17()[0], **changes}])
        assert model.is_like(paper().models[name]) is alike, name


def built(number: str, rows: list[dict[str, object]] | None = None, name: str = "ease") -> ComparisonTable:
    table = build_table(published().root[name], number, own(rows))
    assert table is not None
    return table


def texts(row: ComparisonRow) -> list[str]:
    return [cell.text for cell in row.cells]


def row_of(table: ComparisonTable, label: str) -> ComparisonRow:
    return next(row for row in table.rows if row.label == label)


def best(table: ComparisonTable, header: str) -> list[str]:
    column = table.headers.index(header)
    return [row.label for row in table.rows if row.cells[column].best]


def test_rows_are_grouped_by_their_start_encoder() -> None:
    assert [(row.name, row.origin) for row in built("2").rows] == [
        *((name, "paper") for name in ("mBERTbase (avg.)", "SimCSE-mBERTbase", "EASE-mBERTbase")),
        *(("SimCSE, multilingual", "here, 1 seed"), ("difference from SimCSE-mBERTbase", "")),
        *(("EASE, multilingual", "here, 1 seed"), ("difference from EASE-mBERTbase", "")),
        *(("EASE, multilingual", "here, 3 seeds"), ("difference from EASE-mBERTbase", "")),
        *((name, "paper") for name in ("XLM-Rbase (avg.)", "SimCSE-XLM-Rbase", "EASE-XLM-Rbase")),
        ("MiniLM", "here"),
    ]


def test_ours_have_means_spreads_and_differences() -> None:
    table = built("2")
    assert texts(row_of(table, "EASE, multilingual")) == [f"{value:.1f}" for value in (*EASE_ROW, 57.3)]
    sweep = row_of(table, "EASE, multilingual (sweep seeds, 3 seeds)")
    assert texts(sweep)[:2] == ["79.6 ± 0.5", "63.1 ± 0.5"]
    assert sweep.cells[-1].value == pytest.approx(fmean(EASE_ROW) + 0.1)
    assert sweep.cells[-1].deviation == pytest.approx(stdev([-0.4, 0.2, 0.5]))
    first, second = [row for row in table.rows if row.name == "difference from EASE-mBERTbase"]
    assert texts(first) == "+0.2 +0.2 −1.0 +0.4 +0.2 0.0 +0.3 −0.2 +0.1 +0.5 +0.1".split()
    assert texts(second)[:3] == ["+0.3", "+0.3", "−0.9"]


def test_the_best_of_each_encoder_is_marked_ours_included() -> None:
    table = built("2", sts17((79.3, 60.0)))
    assert best(table, "EN-EN") == ["EASE-mBERTbase", "EASE, multilingual", "EASE-XLM-Rbase"]
    assert best(table, "AR-AR") == ["EASE-mBERTbase", "EASE-XLM-Rbase"]


def test_an_average_with_missing_scores_is_a_dash_with_a_footnote() -> None:
    table = built("14")
    ours = row_of(table, "MiniLM")
    assert texts(ours) == ["72.4", "80.6", "75.6", "–", "–", "–", "–", "–"]
    assert [cell.footnote for cell in ours.cells] == [None] * 7 + [1]
    assert table.footnotes == ["MiniLM: 3 of 7 scores exist; the average is shown only over all of them."]


def test_an_average_over_fewer_subsets_is_shown_but_not_compared() -> None:
    table = built("5", [row("tatoeba", "average_others", 99.0, "retrieval_accuracy", note="90 of 95 subsets")])
    assert texts(row_of(table, "EASE, multilingual")) == ["99.0"]
    assert best(table, "Avg.") == ["EASE-mBERTbase", "EASE-XLM-Rbase"]
    assert table.footnotes == ["EASE, multilingual: 90 of 95 subsets."]
    assert not [row for row in table.rows if row.kind == "difference"]
    whole = built("5", [row("tatoeba", "average_others", 26.0, "retrieval_accuracy")])
    assert texts(row_of(whole, "difference from EASE-mBERTbase")) == ["+0.6"]


def test_every_note_of_a_score_is_shown_if_its_seeds_have_several() -> None:
    notes = ("90 of 95 subsets", "80 of 95 subsets")
    place = ("tatoeba", "average_others", 99.0, "retrieval_accuracy")
    rows = [row(*place, note=note, sweep="seeds", seed=seed, model="sweep seeds") for seed, note in enumerate(notes)]
    (footnote,) = built("5", rows).footnotes
    assert "90 of 95 subsets; 80 of 95 subsets" in footnote


def test_an_ablation_shows_only_counterparts_of_its_rows() -> None:
    unrelated = [row("sts", "2012", 60.0), baseline("sts", "2012", 70.0)]
    assert build_table(published().root["mirror_bert"], "8", own(unrelated)) is None
    swept = {"base": "roberta-base", "pooling": "cls", "sweep": "ablation", "seed": 1}
    variants = [row("sts", "2012", 50.0, method=name, **swept) for name in ("dropout", "no dropout")]
    table = built("8", [*unrelated, *variants], "mirror_bert")
    assert [row.name for row in table.rows if row.kind != "published"] == [
        "dropout, multilingual",
        "difference from RoBERTa + Mirror - span mask",
        "no dropout, multilingual",
        "difference from RoBERTa + Mirror - dropout & span mask",
    ]


def scored(tmp_path: Path, name: str, hits: np.ndarray, data: str = "same") -> dict[str, object]:
    """Return a baseline's row whose items are kept in a folder."""
    score = Score("xnli", "de-en", "retrieval_accuracy", 100 * float(hits.mean()), items=mean_items(hits))
    (score,), resampled = with_intervals([score])
    write_items(tmp_path / f"{name}.parquet", [score], resampled)
    model = {"method": name, "model": name, "base": "one/encoder", "items": f"{name}.parquet", "data": data}
    return baseline("xnli", score.subset, score.value, score.metric, low=score.low, high=score.high, **model)


def test_scores_that_are_not_significantly_below_the_best_are_bold(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    best_hits = random.random(1000) < 0.7
    near = np.where(random.random(1000) < 0.1, random.random(1000) < 0.65, best_hits)
    below = best_hits & (random.random(1000) < 0.97)
    rows = [
        scored(tmp_path, "best", best_hits),
        scored(tmp_path, "near", near),
        scored(tmp_path, "below", below),
        scored(tmp_path, "other data", near, "other"),
        baseline("xnli", "de-en", 60.0, "retrieval_accuracy", method="no items", base="one/encoder"),
    ]
    columns = {"de": ScoreKey("xnli", "de-en", "retrieval_accuracy")}
    table = build_plain_table("Pairs", "", columns, gather_models(rows, tmp_path))
    assert best(table, "de") == ["best", "near"]
    cells = {row.label: row.cells[0] for row in table.rows}
    assert cells["below"].limits == f"[{rows[2]['low']:.1f}, {rows[2]['high']:.1f}]"
    assert cells["no items"].limits == ""
    # The intervals alone would not tell them apart.
    assert cells["below"].interval.high > cells["best"].interval.low  # type: ignore[union-attr]
