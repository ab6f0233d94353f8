"""Nodes of `report`."""

from __future__ import annotations

import logging
from typing import Any

import mlflow
import pandas as pd
import plotly.graph_objects as go

from ease.plots import plot_curves, plot_scores
from ease.tables import format_table, score_table

logger = logging.getLogger(__name__)


def compare_scores(**scores: list[dict[str, Any]]) -> tuple[pd.DataFrame, go.Figure]:
    """Lay the scores of several encoders side by side, as a table and as a plot, also in the log and in MLflow.

    Args:
        scores: Each encoder's scores by its method's name.
    """
    rows = pd.concat([pd.DataFrame(given).assign(method=method) for method, given in scores.items()])
    table, figure = score_table(rows), plot_scores(rows)
    logger.info("Scores, in points of 100:\n%s", format_table(table))
    mlflow.log_table(table, "comparison.json")
    mlflow.log_figure(figure, "comparison.html")
    return table, figure


def compare_curves(**histories: list[dict[str, Any]]) -> go.Figure:
    """Draw the training curves of several methods, also in MLflow.

    Args:
        histories: Each training's history by its method's name.
    """
    rows = pd.concat([pd.DataFrame(given).assign(method=method) for method, given in histories.items()])
    figure = plot_curves(rows)
    mlflow.log_figure(figure, "curves.html")
    return figure
