"""Tables of results as text, and what a taught encoder gained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ease.evaluation.items import mean_items
from ease.evaluation.resampling import with_intervals
from ease.evaluation.score_cache import write_items
from ease.evaluation.scores import Score
from ease.evaluation.scoring import DEVELOPMENT, KEPT_STEP, RETENTION
from ease.reporting.markdown_tables import format_table
from ease.reporting.score_summaries import (
    METHOD_SCORE_COLUMNS,
    language_scores,
    score_table,
    shown_scores,
    split_scores,
    variant_table,
)
from ease.reporting.teaching import compare_before_after, keeps_start, learning_curve


def test_the_score_table_has_averages_last_and_the_main_score_is_no_groups() -> None:
    figures = {"simcse": (10.0, 20.0, 15.0, 50.0), "ease": (70.0, 80.0, 75.0, 60.0)}
    subsets = [("parallel", subset, "accuracy") for subset in ("ja-en", "it-en", "average")]
    subsets.append(("graded", "en", "spearman"))
    rows = [(method, *subsets[n], value) for method, values in figures.items() for n, value in enumerate(values)]
    assert score_table(pd.DataFrame(rows, columns=METHOD_SCORE_COLUMNS)).to_dict("list") == {
        "task": ["parallel", "parallel", "parallel", "graded"],
        "subset": ["it-en", "ja-en", "average", "en"],
        "metric": ["accuracy", "accuracy", "accuracy", "spearman"],
        "simcse": [20, 10, 15, 50],
        "ease": [80, 70, 75, 60],
    }
    rows += [(method, "parallel", "it-en", "a_second_metric", 1.0) for method in figures]
    assert list(score_table(pd.DataFrame(rows, columns=METHOD_SCORE_COLUMNS))["metric"])[:2] == [
        "accuracy",
        "a_second_metric",
    ]
    rows.append(("ease", "parallel", "average_14", "accuracy", 0.0))
    _, mains = split_scores(pd.DataFrame(rows, columns=METHOD_SCORE_COLUMNS))
    assert mains.set_index(["method", "task", "metric"]).loc[("ease", "parallel", "accuracy"), "value"] == 75


def test_a_table_is_markdown_with_aligned_columns() -> None:
    columns = {"language": ["it", "a|b\nc"], "pages": [1234567, 0], "share": [0.123, np.nan]}
    single = np.array([2.25, np.nan], dtype=np.float32)
    table = pd.DataFrame({**columns, "single": single, "good": [True, False]})
    assert format_table(table, decimals=2).splitlines() == [
        "| language |     pages | share | single |  good |",
        "| -------- | --------: | ----: | -----: | ----: |",
        "| it       | 1,234,567 |  0.12 |   2.25 |  True |",
        "| a\\|b c   |         0 |     – |      – | False |",
    ]


def make_sweep() -> pd.DataFrame:
    """Rows of a starting encoder and of a method trained on either language, on two tasks, with averages."""
    trainings = [
        (("start", "start", "en br kab", 1, None, 0.0), (1.0, 3.0, 40.0)),
        (("ease br", "ease", "en br", 1, 80.0, 10.0), (50.0, 4.0, 60.0)),
        (("ease br", "ease", "en br", 2, 84.0, 14.0), (54.0, 6.0, 70.0)),
        (("ease kab", "ease", "en kab", 1, 81.0, 12.0), (2.0, 30.0, 50.0)),
    ]
    rows = []
    for run, (br, kab, graded) in trainings:
        subsets = {"bre-eng": br, "kab-eng": kab, "average": (br + kab) / 2}
        rows += [(*run, "tatoeba", name, "retrieval_accuracy", value) for name, value in subsets.items()]
        rows += [(*run, "stsb", "test", "spearman", graded), (*run, "stsb", "test", "pearson", graded + 1)]
    names = "variant method languages seed development seconds task subset metric value".split()
    return pd.DataFrame(rows, columns=names)


def test_a_sweep_shows_one_score_of_each_training() -> None:
    first = shown_scores(make_sweep(), None).set_index(["variant", "seed"])["value"].to_dict()
    assert first == {("start", 1): 2.0, ("ease br", 1): 27.0, ("ease br", 2): 30.0, ("ease kab", 1): 16.0}
    assert shown_scores(make_sweep(), "tatoeba:kab-eng")["value"].tolist() == [3, 4, 6, 30]
    assert shown_scores(make_sweep(), "stsb")["value"].tolist() == [40, 60, 70, 50]
    with pytest.raises(ValueError, match="No score of stsb:dev to show; there are tatoeba:bre-eng, .*stsb:test"):
        shown_scores(make_sweep(), "stsb:dev")


def test_each_variants_mean_and_deviation_over_its_seeds() -> None:
    table = variant_table(make_sweep()).set_index(["variant", "task"])
    row = table.loc[("ease br", "tatoeba")]
    assert (row["mean"], row["seeds"], row["development"], row["seconds"]) == (28.5, 2, 82.0, 12.0)
    assert row["deviation"] == pytest.approx(np.std([27.0, 30.0], ddof=1))
    assert table.loc[("start", "stsb"), ["deviation", "development"]].isna().all()


def test_languages_show_their_own_scores_before_and_after() -> None:
    subsets = {"br": ("br-en", "bre-eng"), "kab": ("kab-en", "kab-eng")}
    scores = language_scores(make_sweep(), subsets)
    assert scores.set_index(["variant", "method", "seed"])["value"].to_dict() == {
        **{("br", "start", 1): 1.0, ("br", "ease", 1): 50.0, ("br", "ease", 2): 54.0},
        **{("kab", "start", 1): 3.0, ("kab", "ease", 1): 30.0},
    }
    with pytest.raises(ValueError, match="No task has scores of cor with English"):
        language_scores(make_sweep(), {"cor": ("cor-eng",)})


@pytest.mark.parametrize(
    ("language", "task", "new", "old"),
    [
        ("eo", "flores", "epo_Latn-eng_Latn", "deu_Latn-eng_Latn"),
        ("sw", "sib200", "swh_Latn", "deu_Latn"),
        ("ltg", "flores", "ltg_Latn-eng_Latn", "lvs_Latn-eng_Latn"),
        # Wikipedia's `als` is Alemannic; in FLORES and SIB-200, `als_Latn` is Albanian.
        ("sq", "sib200", "als_Latn", "gsw_Latn"),
        ("als", "sib200", "gsw_Latn", "als_Latn"),
        ("als", "sample_parallel", "als-en", "sq-en"),
    ],
)
def test_subsets_of_a_taught_language_are_new(language: str, task: str, new: str, old: str) -> None:
    task_row = {"task": task, "metric": "accuracy", "main": True}
    before, after = (
        [{**task_row, "subset": new, "value": new_value}, {**task_row, "subset": old, "value": old_value}]
        for new_value, old_value in ((10.0, 80.0), (60.0, 79.0))
    )
    changes = compare_before_after(before, after, language).set_index("subset")
    assert changes["kind"].to_dict() == {new: "new", old: "old"}
    assert changes["gain"].to_dict() == {new: 50.0, old: -1.0}


def test_a_gain_has_the_interval_of_paired_resamples(tmp_path: Path) -> None:
    """Each of 60 items that the taught encoder finds was found before, and 12 more are."""
    hits = {"before": np.arange(100) < 60, "after": np.arange(100) < 72}
    rows = {}
    for name, found in hits.items():
        items = mean_items(found.astype(float))
        score = Score("tatoeba", "csb-eng", "accuracy", 100 * float(found.mean()), main=True, items=items)
        (measured,), resampled = with_intervals([score])
        write_items(tmp_path / f"{name}.parquet", [measured], resampled)
        rows[name] = [{**measured.row(), "data": "one", "items": f"{name}.parquet"}]
    (row,) = compare_before_after(rows["before"], rows["after"], "csb", tmp_path).to_dict("records")
    assert row["gain"] == pytest.approx(12)
    # The gain is binomial: 12 of 100, with a standard error of 3.2; unpaired, it would be 6.7.
    assert (row["low"], row["high"]) == pytest.approx((12 - 1.96 * 3.25, 12 + 1.96 * 3.25), abs=1)
    changed = [{**rows["after"][0], "data": "another"}]
    (row,) = compare_before_after(rows["before"], changed, "csb", tmp_path).to_dict("records")
    assert np.isnan(row["low"]), "the scores are of other items"


@pytest.mark.parametrize(("kept_step", "keeps"), [(0.0, True), (9.0, False), (None, True)])
def test_a_kept_start_is_known_by_the_history(kept_step: float | None, keeps: bool) -> None:
    """Not by the scores: the best one may have lost what the starting encoder knows."""
    history = [{"step": 9, "name": DEVELOPMENT, "value": 49.2}]
    if kept_step is not None:
        history.append({"step": 18, "name": KEPT_STEP, "value": kept_step})
    assert keeps_start(history) is keeps


def test_a_learning_curve_has_what_is_kept_of_each_task() -> None:
    values = {DEVELOPMENT: [40.0, 50.0], f"{RETENTION}/tatoeba": [80.0, 60.0], RETENTION: [100.0, 75.0], "loss": [1.0]}
    history = [
        {"step": 9 * number, "name": name, "value": value}
        for name, scores in values.items()
        for number, value in enumerate(scores)
    ]
    assert learning_curve(history).to_dict("list") == {
        "step": [0, 9],
        "development": [40.0, 50.0],
        "tatoeba, % kept": [100.0, 75.0],
    }
    assert learning_curve([]).empty
