"""Figures of training curves."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from ease.io.names import DEVELOPMENT
from ease.reporting.plots.style import Style, finish, method_label, method_styles, nothing, panel_grid


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
