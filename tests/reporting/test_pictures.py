"""Pictures of figures have their texts, bars and curves, and no library in JavaScript."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from matplotlib.patches import Rectangle

from ease.reporting.plots import (
    picture_svg,
    plot_alignment_uniformity,
    plot_cosine_distributions,
    plot_curves,
    plot_ingest_summary,
    plot_language_pair,
    plot_mewsc16,
    plot_pair_funnel,
    plot_roc_curves,
    plot_scores,
    plot_table_bars,
    plot_table_scatter,
    plot_variants,
)
from ease.reporting.plots.pictures import draw_picture
from tests.reporting.test_plots import ALIGNMENT, HISTORY, PLANE, SCORES

PAGES = pd.DataFrame({"language": ["en", "de"], "kept": [9, 4], "links": [7, 0], "links_resolved": [5, 0]})
FUNNEL = pd.DataFrame({"language": ["en", "de"], "pairs": [9, 4], "rare": [2, 1], "left": [7, 3]})
NEWS = pd.DataFrame({"language": ["en"], "sentences": [100], "label_types": [5]})
COSINES = [("ease", kind, cosine) for kind in ("positive", "negative") for cosine in (0.1, 0.2)]
RATES = pd.DataFrame({"model": "ease", "false_positive_rate": [0, 1], "true_positive_rate": [0, 1], "auc": 0.5})
POINTS = pd.DataFrame({"label": ["Ours"], "kind": ["own"], "method": ["ease"], "x": [40.0], "y": [50.0]})
BARS = POINTS.assign(column="EN-DE", value=80.0, low=78.0, high=81.0)
FIGURES = {
    "ingest": (plot_ingest_summary(PAGES), "Links of kept pages", "71%"),
    "scores": (plot_scores(SCORES), "Main score of each task", "EASE"),
    "curves": (plot_curves(HISTORY), "Training curves", "training step"),
    "variants": (
        plot_variants(pd.DataFrame({"variant": ["1e-5"], "method": "ease", "seed": 1, "value": 3.5}), "$1 to $2"),
        "$1 to $2",
        "1e-5",
    ),
    "funnel": (plot_pair_funnel(FUNNEL), "13 (100%)", "removed: rare"),
    "news": (plot_mewsc16(NEWS.assign(paper_sentences=90, paper_label_types=6)), "paper (Table 13)", "en"),
    "alignment": (plot_alignment_uniformity(ALIGNMENT), "Alignment and uniformity", "Untrained"),
    "language pair": (plot_language_pair(PLANE), "Untrained: 25% of the variance", "translations"),
    "cosines": (
        plot_cosine_distributions(
            pd.DataFrame(COSINES, columns=["model", "kind", "cosine"]), pd.DataFrame({"model": ["ease"], "auc": [0.7]})
        ),
        "EASE: AUC 0.70",
        "share of pairs",
    ),
    "rates": (plot_roc_curves(RATES), "EASE: AUC 0.500", "chance"),
    "bars": (plot_table_bars([("Table 2", BARS)]), "Table 2", "EN-DE"),
    "scatter": (plot_table_scatter([("Both", POINTS, "STS", "Tatoeba")]), "Tatoeba", "Ours"),
    "empty": (plot_scores(SCORES.head(0)), "Scores by method", "Nothing to show: the table is empty."),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_picture_has_the_texts_of_its_figure_in_some_kilobytes(name: str) -> None:
    figure, *texts = FIGURES[name]
    picture = picture_svg(figure)
    words = " ".join(ElementTree.fromstring(picture).itertext())
    assert [text for text in texts if text not in words] == []
    assert not re.search("<(b|sup|sub|br)>", picture)
    assert len(picture) < 100_000


def test_bars_and_curves_are_those_of_the_figure() -> None:
    figure, *_ = FIGURES["scores"]
    panels = draw_picture(figure).axes
    bars = [bar for panel in panels for bar in panel.patches]
    lengths = sorted(bar.get_width() for bar in bars if isinstance(bar, Rectangle))
    assert lengths == pytest.approx(sorted(length for trace in figure.data for length in trace.x))
    figure, *_ = FIGURES["curves"]
    curves = [list(line.get_ydata()) for panel in draw_picture(figure).axes for line in panel.get_lines()]
    assert sorted(curves) == sorted(list(trace.y) for trace in figure.data)


def test_a_picture_of_names_in_any_script_warns_of_nothing(recwarn: pytest.WarningsRecorder) -> None:
    figure = plot_table_bars([("表 ๑", BARS.assign(label="日本語", column="ไทย"))])
    assert "日本語" in picture_svg(figure)
    assert not recwarn.list


def test_axes_of_panels_that_match_have_the_same_limits() -> None:
    figure = plot_cosine_distributions(
        pd.DataFrame(
            [*COSINES, *(("simcse", kind, place) for kind in ("positive", "negative") for place in (-0.9, 0.9))],
            columns=["model", "kind", "cosine"],
        ),
        pd.DataFrame({"model": ["ease", "simcse"], "auc": [0.7, 0.5]}),
    )
    assert isinstance(figure, go.Figure)
    left, right = draw_picture(figure).axes
    np.testing.assert_allclose(left.get_xlim(), right.get_xlim())
