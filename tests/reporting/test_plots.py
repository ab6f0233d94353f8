"""Figures show the values of their tables."""

from __future__ import annotations

import json
from statistics import fmean

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from ease.reporting.comparison import build_table
from ease.reporting.plots import (
    plot_alignment_uniformity,
    plot_cosine_distributions,
    plot_curves,
    plot_ingest_summary,
    plot_language_pair,
    plot_pair_funnel,
    plot_roc_curves,
    plot_scores,
    plot_table_bars,
    plot_variants,
)
from ease.reporting.plots.style import TEXT_COLOUR
from ease.reporting.report import bar_rows, build_scatters
from tests.reporting.made import EASE_ROW, options, own, paper, published, row, sts17


def traces(figure: go.Figure, name: str) -> list[go.Bar | go.Scatter]:
    """Return the traces with a name, after a round trip through JSON, in which figures are stored."""
    return [trace for trace in go.Figure(json.loads(figure.to_json())).data if trace.name == name]


SCORES = pd.DataFrame(
    [
        ("simcse", "sample_parallel", "it-en", "retrieval_accuracy", 24.0),
        ("ease", "sample_parallel", "it-en", "retrieval_accuracy", 70.0),
        ("ease", "sample_parallel", "ja-en", "retrieval_accuracy", 74.0),
        ("ease", "sample_parallel", "average", "retrieval_accuracy", 72.0),
        ("ease", "sample_graded", "en", "spearman", 80.0),
    ],
    columns=["method", "task", "subset", "metric", "value"],
)


def bars(figure: go.Figure, name: str) -> dict[str, float]:
    """Return the lengths of the bars of the only trace with a name."""
    (trace,) = traces(figure, name)
    return dict(zip(trace.y, trace.x, strict=True))


def test_ingest_summary_stacks_pages_and_splits_links() -> None:
    columns = ["language", "kept", "skipped_redirect", "skipped_empty", "links", "links_resolved"]
    summary = pd.DataFrame([("it", 5, 2, 0, 10, 8), ("en", 7, np.nan, 0, 0, 0)], columns=columns)
    figure = plot_ingest_summary(summary.convert_dtypes())
    assert bars(figure, "kept") == {"it": 5, "en": 7}
    assert bars(figure, "skipped: redirect") == {"it": 2, "en": 0}
    (resolved,) = traces(figure, "links resolved")
    assert dict(zip(resolved.y, resolved.text, strict=True)) == {"it": "80%", "en": ""}
    assert bars(figure, "links unresolved") == {"it": 2, "en": 0}


def test_scores_are_grouped_by_language_and_as_main_scores_with_bars_where_intervals_are_known() -> None:
    scores = SCORES.assign(low=SCORES["value"] - 2, high=SCORES["value"] + 1)
    scores.loc[scores["subset"] == "ja-en", ["low", "high"]] = None
    mains, by_language = (trace for trace in plot_scores(scores).data if trace.name == "EASE")
    assert dict(zip(by_language.y, by_language.x, strict=True)) == {"it": 70, "ja": 74}
    assert np.isnan(by_language.error_x.array).tolist() == [place == "ja" for place in by_language.y]
    assert list(mains.y) == ["sample_parallel", "sample_graded"]
    assert list(mains.x) == [72, 80]
    assert [list(mains.error_x.array), list(mains.error_x.arrayminus)] == [[1, 1], [2, 2]]
    without, _ = traces(plot_scores(SCORES), "EASE")
    assert without.error_x.array is None


CURVE = {0: 1.0, 50: 9.0, 100: 4.0}
HISTORY = pd.DataFrame(
    [("ease", step, name, value) for name in ("loss", "development") for step, value in CURVE.items()],
    columns=["method", "step", "name", "value"],
)


def test_curves_have_a_star_at_the_best_checkpoint() -> None:
    stars = [trace for trace in plot_curves(HISTORY).data if trace.marker.symbol == "star"]
    assert [(star.x[0], star.y[0]) for star in stars] == [(50, 9)]


def test_variants_show_each_seed_and_the_mean() -> None:
    rows = [(1e-4, 2, 20.0), (1e-4, 1, 22.0), (1e-3, 1, 25.0), (1e-3, 2, 26.0)]
    table = pd.DataFrame(rows, columns=["variant", "seed", "value"]).assign(method="simcse")
    figure = plot_variants(table, "SimCSE's learning rate")
    (points,) = traces(figure, "SimCSE")
    assert list(points.y) == [20, 22, 25, 26]
    assert points.x[1] < points.x[0], "seeds lie side by side in their order"
    assert np.allclose([np.mean(points.x[:2]), np.mean(points.x[2:])], [0, 1])
    assert [(shape.y0, shape.y1) for shape in figure.layout.shapes] == [(21, 21), (25.5, 25.5)]


def test_the_funnel_shows_remaining_and_removed_pairs_of_each_filter() -> None:
    rows = [("it", 1500, 1000, 0, 500), ("en", 500, 400, 0, 100)]
    figure = plot_pair_funnel(pd.DataFrame(rows, columns=["language", "pairs", "rare", "too_long", "left"]))
    total = figure.data[0]
    assert list(total.y) == ["linked", "− rare", "− too long"]
    assert list(total.text) == ["2,000 (100%)", "600 (30%)", "600 (30%)"]
    assert bars(figure, "left") == {"it": 500, "en": 100}
    assert bars(figure, "removed: rare") == {"it": 1000, "en": 400}


ALIGNMENT = pd.DataFrame(
    [
        *[("untrained", "en-en", 0.2, -0.3), ("untrained", "en-de", 0.4, -0.5)],
        *[("untrained", "average", 0.3, -0.4), ("ease", "en-en", 0.25, -2.0)],
    ],
    columns=["model", "subset", "alignment", "uniformity"],
).assign(positives=9, sentences=90)


def test_alignment_is_plotted_against_uniformity_with_one_point_per_model() -> None:
    figure = plot_alignment_uniformity(ALIGNMENT)
    (untrained,), (ease,) = traces(figure, "Untrained"), traces(figure, "EASE")
    assert (list(untrained.x), list(untrained.y)) == ([-0.4], [0.3]), "the average stands for several subsets"
    assert (list(ease.x), list(ease.y)) == ([-2.0], [0.25])


PLANE = pd.DataFrame(
    [
        (model, pair, language, f"{language} {pair}", 10.0 * place + pair, shift + place, variance)
        for place, (model, variance) in enumerate([("untrained", 0.25), ("ease", np.nan)])
        for language, shift in (("ja", 0.5), ("en", -0.5))
        for pair in range(3)
    ],
    columns=["model", "pair", "language", "sentence", "x", "y", "variance"],
)


def test_lines_lead_from_each_sentence_to_its_translation() -> None:
    table = PLANE.sample(frac=1, random_state=3).sort_values("language", ascending=False, kind="stable")
    panel = list(table["model"].unique()).index("ease")
    lines, points = (traces(plot_language_pair(table), name)[panel] for name in ("translations", "en"))
    steps = list(zip(lines.x, lines.y, strict=True))
    assert steps[2::3] == [(None, None)] * 3
    assert sorted(steps[0::3]) == [(10, 1.5), (11, 1.5), (12, 1.5)]
    assert [(x, y - 1) for x, y in steps[0::3]] == steps[1::3]
    assert dict(zip(points.customdata, points.x, strict=True)) == {"en 0": 10, "en 1": 11, "en 2": 12}


@pytest.mark.parametrize(
    "figure",
    [
        plot_ingest_summary(pd.DataFrame(columns=["language", "kept", "links", "links_resolved"])),
        plot_scores(SCORES.head(0)),
        plot_curves(HISTORY.head(0)),
        plot_variants(pd.DataFrame(columns=["variant", "method", "seed", "value"]), "Seeds"),
        plot_pair_funnel(pd.DataFrame(columns=["language", "pairs", "left"])),
        plot_alignment_uniformity(ALIGNMENT.head(0)),
        plot_language_pair(PLANE.head(0)),
        plot_cosine_distributions(pd.DataFrame(columns=["model", "kind", "cosine"]), pd.DataFrame()),
        plot_roc_curves(pd.DataFrame()),
    ],
)
def test_an_empty_table_says_so(figure: go.Figure) -> None:
    assert not figure.data
    assert "empty" in figure.layout.annotations[0].text


def test_the_bars_are_the_figures_with_whiskers_of_their_intervals() -> None:
    tables = {"Pairs": build_table(paper(), "2", own()), "English": build_table(paper(), "14", own())}
    figure = plot_table_bars([(title, bar_rows(table)) for title, table in tables.items() if table])
    first, second = [trace for trace in figure.data if trace.name == "MiniLM"]
    assert (list(first.y), list(first.x)) == (["EN-EN"], [87.59])
    assert (list(second.y), list(second.x)) == (["STS12", "STS13", "STS14"], [72.37, 80.6, 75.59])
    (newest,) = [trace for trace in figure.data if trace.name == "EASE, multilingual"]
    assert list(newest.x) == [*EASE_ROW, pytest.approx(fmean(EASE_ROW))]
    assert newest.error_x.array is None
    (sweep,) = traces(figure, "EASE, multilingual (sweep seeds, 3 seeds)")
    half = [pytest.approx(4.3027 * 0.4583 / 3**0.5, abs=1e-3)] * 11
    assert [list(sweep.error_x.array), list(sweep.error_x.arrayminus)] == [half, half]


def test_points_are_the_averages_of_two_tables() -> None:
    languages = [str(column.subset) for column in paper().tables["3"].columns if column.task]
    clusters = [row("mewsc16", code, 30.0, "accuracy") for code in languages]
    (multilingual,) = build_scatters(options(), published(), own([*sts17(), *clusters]))
    points = multilingual.points.set_index("label")
    assert points.loc["EASE, multilingual", ["x", "y"]].tolist() == [pytest.approx(fmean(EASE_ROW)), 30.0]
    assert points.loc["EASE-mBERTbase", ["x", "y"]].tolist() == [57.2, 36.0]
    assert build_scatters(options(), published(), own()) == [], "some scores of each average are missing"


def test_figures_have_their_own_template_alone() -> None:
    template = plot_scores(SCORES).layout.template
    assert template.layout.font.color == TEXT_COLOUR
    assert template.layout.colorway is None, "Plotly's own template has one"
