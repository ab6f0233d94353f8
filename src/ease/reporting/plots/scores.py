"""Figures of scores by method and of repeated trainings."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ease.evaluation.tasks import get_task
from ease.io.names import DEVELOPMENT
from ease.reporting.plots.style import (
    Style,
    finish,
    method_label,
    method_styles,
    nothing,
    panel_grid,
    score_bars,
    score_range,
    show_intervals,
)
from ease.reporting.score_summaries import split_scores, with_limits

METRIC_LABELS = {"retrieval_accuracy": "retrieval<br>accuracy", "spearman": "Spearman's ρ<br>× 100"}
MAIN_PANEL = "Main score of each task"


def plot_scores(scores: pd.DataFrame) -> go.Figure:
    """Plot methods side by side: one panel per task with several subsets, and one of all main scores.

    Args:
        scores: Columns `method`, `task`, `subset`, `metric`, `value` (points), and `low` and `high`, the limits of the
            95% interval, if they are known; only main metrics are shown.
    """
    title = "Scores by method"
    if scores.empty:
        return nothing(title)
    metrics = {task: get_task(task).METRIC for task in scores["task"].unique()}
    scores = scores[scores["metric"] == scores["task"].map(metrics)]
    subsets, mains = (with_limits(rows, scores) for rows in split_scores(scores))
    panels = [_panel(task, rows) for task, rows in subsets.groupby("task", sort=False)]
    figure, main_column = _score_grid([name for name, _ in panels], mains["task"].nunique())
    mains = mains.assign(subset=mains["task"] + "<br>" + mains["metric"].replace(METRIC_LABELS))
    places = [(rows, {"row": row, "col": 1}) for row, (_, rows) in enumerate(panels, start=1)]
    for method, style in method_styles(list(scores["method"])).items():
        for rows, place in (*places, (mains, {"row": 1, "col": main_column})):
            own, main = rows[rows["method"] == method], rows is mains
            bars = score_bars(own["subset"], own["value"], method_label(method), style, numbered=main)
            show_intervals(bars, own)
            # Only the panel of main scores has labels and the legend.
            figure.add_trace(bars.update(legendgroup=method, showlegend=main), **place)
    figure.update_layout(barmode="group", bargap=0.25)
    # One range for all panels, with space above the highest bar for its label, and for its interval.
    figure.update_yaxes(range=score_range(pd.concat([subsets, mains]), 1.1))
    figure.update_xaxes(tickangle=0, col=main_column)
    figure.update_yaxes(title_text="points", col=1)
    return finish(figure, title, 200 + 300 * max(1, len(panels)))


def _score_grid(names: Sequence[str], tasks: int) -> tuple[go.Figure, int]:
    """Return stacked panels of tasks beside one of main scores, and the main scores' column."""
    if not names:
        return make_subplots(subplot_titles=[MAIN_PANEL]), 1
    main_width = min(0.14 * tasks, 0.5)
    rows = len(names)
    figure = make_subplots(
        rows=rows,
        cols=2,
        column_widths=[1 - main_width, main_width],
        horizontal_spacing=0.06,
        vertical_spacing=0.3 / rows,
        specs=[[{}, {"rowspan": rows} if row == 0 else None] for row in range(rows)],
        subplot_titles=[names[0], MAIN_PANEL, *names[1:]],
    )
    return figure, 2


def _panel(task: str, rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return a task's title and rows; a language common to all subsets is named in the title only."""
    partners = rows["subset"].str.partition("-")
    if partners[2].nunique() > 1 or not partners[2].all():
        return task, rows
    return f"{task}: each language with {partners[2].iloc[0]}", rows.assign(subset=partners[0])


def plot_variants(
    table: pd.DataFrame, title: str, value_label: str = "retrieval accuracy (points)"
) -> go.Figure:
    """Plot scores of repeated trainings: one point per seed, and a line at each variant's mean.

    Args:
        table: Columns `variant` (such as a learning rate), `method`, `seed`, `value`.
        title: Title of the figure.
        value_label: Name and unit of the score.
    """
    if table.empty:
        return nothing(title)
    variants = list(dict.fromkeys(table["variant"].astype(str)))
    figure = go.Figure()
    for method, style in method_styles(list(table["method"])).items():
        points = table[table["method"] == method].assign(variant=lambda rows: rows["variant"].astype(str))
        figure.add_trace(
            go.Scatter(
                x=_spread(points, variants),
                y=points["value"],
                mode="markers",
                name=method_label(method),
                marker={"color": style.colour, "symbol": style.symbol, "size": 10, "opacity": 0.8},
                customdata=points["seed"],
                hovertemplate=f"{method_label(method)}, seed %{{customdata}}: %{{y:.1f}}<extra></extra>",
            )
        )
        line = {"color": style.colour, "width": 2}
        for variant, mean in points.groupby("variant", sort=False)["value"].mean().items():
            centre, y = variants.index(str(variant)), float(mean)
            figure.add_shape(type="line", x0=centre - 0.3, x1=centre + 0.3, y0=y, y1=y, line=line)
            figure.add_annotation(x=centre + 0.31, y=y, text=f"{y:.1f}", showarrow=False, xanchor="left")
    figure.update_xaxes(
        tickvals=list(range(len(variants))), ticktext=variants, range=[-0.6, len(variants) - 0.4]
    )
    figure.update_yaxes(title_text=value_label, rangemode="tozero")
    return finish(figure, title, 480)


def _spread(points: pd.DataFrame, variants: Sequence[str]) -> list[float]:
    """Return positions around a variant's centre, so that equal scores stay visible."""
    count = points.groupby("variant")["seed"].transform("size")
    rank = points.sort_values("seed").groupby("variant").cumcount().reindex(points.index)
    offset = (rank - (count - 1) / 2) * 0.08
    return [variants.index(variant) + shift for variant, shift in zip(points["variant"], offset, strict=True)]


def plot_curves(history: pd.DataFrame) -> go.Figure:
    """Plot losses, rates and development scores over training steps: one panel a curve, one line per method.

    Args:
        history: Columns `method`, `step`, `name`, `value`. A star marks the best value of development scores.
    """
    title = "Training curves"
    history = history.dropna(subset="value")
    if history.empty:
        return nothing(title)
    names = _panels(history["name"])
    figure, places = panel_grid([name.replace("_", " ") for name in names], 2, gap=0.28, spacing=0.08)
    for method, style in method_styles(list(history["method"])).items():
        shown = False
        for name, place in zip(names, places, strict=True):
            curve = history[(history["method"] == method) & (history["name"] == name)].sort_values("step")
            if not curve.empty:
                figure.add_trace(_curve(curve, method, style, shown), **place)
                shown = True
                if _is_development(name):
                    figure.add_trace(_best_point(curve, method, style), **place)
    figure.update_xaxes(range=[0, history["step"].max() * 1.02])
    for name, place in zip(names, places, strict=True):
        unit = "points" if _is_development(name) else "loss (nats)" if "loss" in name else ""
        if name.endswith("per_second"):
            unit = f"{name.removesuffix('_per_second').replace('_', ' ')}/s"
            figure.update_yaxes(rangemode="tozero", **place)
        figure.update_yaxes(title_text=unit, **place)
        # Panels above another one have the same steps as that one.
        lowest = {"title_text": "training step"} if place in places[-2:] else {"showticklabels": False}
        figure.update_xaxes(**lowest, **place)
    return finish(figure, title, 170 + 240 * places[-1]["row"])


def _is_development(name: str) -> bool:
    return name.partition("/")[0] == DEVELOPMENT


def _panels(names: pd.Series) -> list[str]:
    """Return the curves to show, development scores first; skip the per-task curve if there is only one task."""
    shown = sorted(names.unique(), key=lambda name: (not _is_development(name), name.count("/"), name))
    parts = [name for name in shown if _is_development(name) and name != DEVELOPMENT]
    if DEVELOPMENT in shown and len(parts) == 1:
        shown.remove(parts[0])
    return shown


def _curve(curve: pd.DataFrame, method: str, style: Style, shown: bool) -> go.Scatter:
    """Return one method's line in one panel; short curves have markers."""
    return go.Scatter(
        x=curve["step"],
        y=curve["value"],
        mode="lines+markers" if len(curve) <= 30 else "lines",
        name=method_label(method),
        legendgroup=method,
        showlegend=not shown,
        line={"color": style.colour, "dash": style.dash, "width": 2},
        marker={"symbol": style.symbol, "size": 6},
        hovertemplate=f"{method_label(method)}, step %{{x:,}}: %{{y:.4g}}<extra></extra>",
    )


def _best_point(curve: pd.DataFrame, method: str, style: Style) -> go.Scatter:
    """Return a star at the highest point of a development curve."""
    best = curve.loc[curve["value"].idxmax()]
    side = {curve["step"].min(): "right", curve["step"].max(): "left"}.get(best["step"], "center")
    return go.Scatter(
        x=[best["step"]],
        y=[best["value"]],
        mode="markers+text",
        text=[f"{best['value']:.1f}"],
        textposition=f"bottom {side}",  # a label at an end of the axis would be cut
        cliponaxis=False,
        legendgroup=method,
        showlegend=False,
        marker={"symbol": "star", "size": 14, "color": style.colour, "line": {"color": "white", "width": 1}},
        hovertemplate=f"{method_label(method)}, best: %{{y:.1f}} at step %{{x:,}}<extra></extra>",
    )
