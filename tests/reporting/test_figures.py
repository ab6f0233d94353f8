"""Figures of the report show the values of the tables, and their labels do not overlap."""

from __future__ import annotations

from statistics import fmean

import pandas as pd
import pytest

from ease.reporting.comparison import build_table
from ease.reporting.plots import plot_table_bars, plot_table_scatter
from ease.reporting.plots.published import place_labels
from ease.reporting.plots.style import series_styles
from ease.reporting.report import bar_rows, build_scatters
from tests.reporting.made import EASE_ROW, options, own, paper, published


def rows_of(number: str, rows: list[dict[str, object]] | None = None) -> pd.DataFrame:
    table = build_table(paper(), number, own(rows))
    assert table is not None
    return bar_rows(table)


def test_bars_show_ours_beside_their_counterparts() -> None:
    rows = rows_of("2")
    assert list(dict.fromkeys(zip(rows["kind"], rows["label"], strict=True))) == [
        ("published", "SimCSE-mBERTbase"),
        ("published", "EASE-mBERTbase"),
        ("own", "SimCSE, multilingual"),
        ("own", "EASE, multilingual"),
        ("own", "EASE, multilingual (sweep seeds, 3 seeds)"),
        ("own", "MiniLM"),
    ]


def test_bars_without_a_counterpart_show_the_best_of_each_encoder_where_we_have_scores() -> None:
    rows = rows_of("14")
    assert set(rows["column"]) == {"STS12", "STS13", "STS14"}
    assert list(dict.fromkeys(rows.loc[rows["kind"] == "published", "label"])) == [
        "GloVe embeddings (avg.)",
        "EASE-BERTbase",
        "EASE-RoBERTabase",
    ]


def test_the_bars_are_the_figures_with_whiskers_of_their_intervals() -> None:
    figure = plot_table_bars([("Pairs", rows_of("2")), ("English", rows_of("14"))])
    first, second = [trace for trace in figure.data if trace.name == "MiniLM"]
    assert (list(first.x), list(first.y)) == (["EN-EN"], [87.59])
    assert (list(second.x), list(second.y)) == (["STS12", "STS13", "STS14"], [72.37, 80.6, 75.59])
    assert first.xaxis != second.xaxis
    assert [trace.showlegend for trace in (first, second)] == [True, False]
    (newest,) = [trace for trace in figure.data if trace.name == "EASE, multilingual"]
    assert list(newest.y) == [*EASE_ROW, pytest.approx(fmean(EASE_ROW))]
    assert newest.error_y.array is None
    (sweep,) = [trace for trace in figure.data if trace.name.startswith("EASE, multilingual (")]
    half = [pytest.approx(4.3027 * 0.4583 / 3**0.5, abs=1e-3)] * 11
    assert [list(sweep.error_y.array), list(sweep.error_y.arrayminus)] == [half, half]
    assert [note.text for note in figure.layout.annotations] == ["Pairs", "English"]
    assert plot_table_bars([("Pairs", rows_of("2"))]).layout.title.text == "Pairs"


def test_series_have_a_style_each_and_methods_their_own_first() -> None:
    styles = series_styles(["ease", "ease", "simcse", "x", "y", "z"])
    assert len(set(styles)) == 6
    assert styles[0] == series_styles(["simcse", "ease"])[1]
    assert len(series_styles(["m"] * 30)) == 30


def test_points_are_means_over_what_our_models_are_scored_on() -> None:
    english, multilingual = build_scatters(options(), published(), own())
    assert "3 of 7: STS12, STS13, STS14" in english.x_title
    assert "2 of 8: AG, Tweet" in english.y_title
    points = english.points.set_index("label")
    assert points.loc["MiniLM", ["x", "y"]].tolist() == pytest.approx(
        [fmean([72.37, 80.6, 75.59]), fmean([84.1, 61.5])]
    )
    assert points.loc["EASE-BERTbase", ["x", "y"]].tolist() == pytest.approx(
        [fmean([72.8, 81.8, 73.7]), fmean([85.8, 54.8])]
    )
    assert "BERTbase-flow" not in points.index, "it is in one of the tables alone"
    assert "all 10" in multilingual.x_title
    assert set(multilingual.points.loc[multilingual.points["kind"] == "own", "label"]) == {
        "EASE, multilingual"
    }


def test_the_scatter_has_one_named_point_per_model() -> None:
    panels = build_scatters(options(), published(), own())
    figure = plot_table_scatter(panels)
    assert len(figure.data) == sum(len(panel.points) for panel in panels)
    (minilm,) = [trace for trace in figure.data if trace.name == "MiniLM"]
    assert minilm.text == ("<b>MiniLM</b>",)
    assert minilm.marker.color != "#8C8C8C"
    assert figure.layout.xaxis.title.text.startswith("Table 14")


def test_labels_of_neighbouring_points_do_not_overlap() -> None:
    points = pd.DataFrame({"label": ["a long name"] * 4, "x": [5.0, 5.2, 5.4, 5.6], "y": [5.0] * 4})
    places = place_labels(points, [0, 10], [0, 10], 1000, 300)
    assert places[0] == "top center"
    assert len(set(places)) == 4
    far = pd.DataFrame({"label": ["a", "b"], "x": [1.0, 9.0], "y": [1.0, 9.0]})
    assert place_labels(far, [0, 10], [0, 10], 1000, 300) == ["top center", "top center"]
