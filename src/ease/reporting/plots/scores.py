"""Figures of scores: by method, of repeated training runs, and beside published scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from ease.evaluation.scoring import DEVELOPMENT, KEPT_STEP
from ease.lazy import go, pd, subplots
from ease.reporting.plots.style import (
    PUBLISHED_STYLES,
    Style,
    empty_figure,
    finish,
    method_label,
    method_styles,
    panel_grid,
    series_styles,
    stack_bars,
)
from ease.reporting.score_summaries import by_main_metric, split_scores, with_limits


def plot_scores(scores: pd.DataFrame) -> go.Figure:
    """Plot methods side by side: one panel of all main scores, and one per task with several subsets.

    `scores`: Columns `method`, `task`, `subset`, `metric`, `value` (points), and `low` and `high`, the limits of the
        95% interval, if they are known; only main metrics are shown.
    """
    title = "Scores by method"
    if scores.empty:
        return empty_figure(title)
    scores = scores[by_main_metric(scores)]
    subsets, mains = (with_limits(rows, scores) for rows in split_scores(scores))
    panels = [("Main score of each task", mains.assign(subset=mains["task"]))]
    for task, rows in subsets.groupby("task", sort=False):
        partners = rows["subset"].str.partition("-")
        if partners[2].nunique() == 1 and partners[2].all():
            # A language common to all subsets is named in the title only.
            panels.append((f"{task}, each with {partners[2].iloc[0]}", rows.assign(subset=partners[0])))
        else:
            panels.append((str(task), rows))
    styles = {method_label(method): style for method, style in method_styles(list(scores["method"])).items()}
    bar_panels = [
        (name, rows.assign(label=rows["method"].map(method_label), column=rows["subset"])) for name, rows in panels
    ]
    return stack_bars(title, bar_panels, styles)


def plot_variants(table: pd.DataFrame, title: str, value_label: str = "retrieval accuracy (points)") -> go.Figure:
    """Plot scores of repeated training runs: one point per seed, and a line at each variant's mean.

    `table`: Columns `variant` (such as a learning rate), `method`, `seed`, `value`.
    """
    if table.empty:
        return empty_figure(title)
    table = table.assign(variant=table["variant"].astype(str))
    centres = {variant: centre for centre, variant in enumerate(table["variant"].unique())}
    figure = go.Figure()
    for method, style in method_styles(list(table["method"])).items():
        points = table[table["method"] == method]
        # Seeds lie side by side around the variant's centre, so that equal scores stay visible.
        count = points.groupby("variant")["seed"].transform("size")
        rank = points.sort_values("seed").groupby("variant").cumcount().reindex(points.index)
        x = points["variant"].map(centres) + (rank - (count - 1) / 2) * 0.08
        marker = {"color": style.colour, "symbol": style.symbol, "size": 10, "opacity": 0.8}
        label = method_label(method)
        hover = f"{label}, seed %{{customdata}}: %{{y:.1f}}<extra></extra>"
        text = {"name": label, "customdata": points["seed"], "hovertemplate": hover}
        figure.add_scatter(x=x, y=points["value"], mode="markers", marker=marker, **text)
        line = {"color": style.colour, "width": 2}
        for variant, mean in points.groupby("variant", sort=False)["value"].mean().items():
            centre = centres[str(variant)]
            y = float(mean)
            figure.add_shape(type="line", x0=centre - 0.3, x1=centre + 0.3, y0=y, y1=y, line=line)
            figure.add_annotation(x=centre + 0.31, y=y, text=f"{y:.1f}", showarrow=False, xanchor="left")
    ticks = {"tickvals": list(centres.values()), "ticktext": list(centres)}
    figure.update_xaxes(**ticks, range=[-0.6, len(centres) - 0.4])
    figure.update_yaxes(title_text=value_label, rangemode="tozero")
    return finish(figure, title, 480)


def plot_curves(history: pd.DataFrame) -> go.Figure:
    """Plot losses, rates and development scores over training steps: one panel per curve, one line per method.

    `history`: Columns `method`, `step`, `name`, `value`. A star marks the best development score of a trained step.
    """
    title = "Training curves"
    history = history.dropna(subset="value")
    history = history[history["name"] != KEPT_STEP]
    if history.empty:
        return empty_figure(title)
    scores = {name for name in history["name"].unique() if name.partition("/")[0] == DEVELOPMENT}
    names = sorted(history["name"].unique(), key=lambda name: (name not in scores, name.count("/"), name))
    # With a single task, the development score is that of the task: the same curve twice.
    if DEVELOPMENT in scores and len(scores) == 2:
        names.remove(*(scores - {DEVELOPMENT}))
    titles = [_curve_title(name, name in scores) for name in names]
    figure, places = panel_grid(titles, 2, gap=0.28, spacing=0.08)
    for method, style in method_styles(list(history["method"])).items():
        method_history = history[history["method"] == method]
        # A method stands in the legend once, for all panels.
        in_legend = False
        for name, place in zip(names, places, strict=True):
            curve = method_history[method_history["name"] == name].sort_values("step")
            if not curve.empty:
                _add_curve(figure, curve, method, style, {**place, "showlegend": not in_legend}, name in scores)
                in_legend = True
    figure.update_xaxes(range=[0, history["step"].max() * 1.02])
    for name, place in zip(names, places, strict=True):
        if name.endswith("per_second"):
            figure.update_yaxes(rangemode="tozero", **place)
        # Panels above another panel have the same steps.
        if place in places[-2:]:
            figure.update_xaxes(title_text="training step", **place)
        else:
            figure.update_xaxes(showticklabels=False, **place)
    return finish(figure, title, 170 + 240 * places[-1]["row"])


def _curve_title(name: str, is_score: bool) -> str:
    """Return a panel's title with the unit: titles of inner axes would meet the numbers in a narrow figure."""
    title = name.replace("_", " ")
    if is_score:
        return f"{title} (points)"
    if "loss" in name:
        return f"{title} (nats)"
    return title


def _add_curve(
    figure: go.Figure, curve: pd.DataFrame, method: str, style: Style, place: dict[str, Any], starred: bool
) -> None:
    """Add one method's line to one panel; if `starred`, with a star at its best trained step."""
    label = method_label(method)
    hover = f"{label}, step %{{x:,}}: %{{y:.4g}}<extra></extra>"
    line = {"color": style.colour, "dash": style.dash, "width": 2}
    look: dict[str, Any] = {"line": line, "marker": {"symbol": style.symbol, "size": 6}}
    text: dict[str, Any] = {"name": label, "legendgroup": method, "hovertemplate": hover}
    mode = "lines"
    # Markers show the steps of short curves; those of long curves would overlap.
    if len(curve) <= 30:
        mode = "lines+markers"
    figure.add_scatter(x=curve["step"], y=curve["value"], mode=mode, **look, **text, **place)
    if not starred:
        return
    # Step 0 is the starting encoder, which is not kept.
    trained = curve
    if curve["step"].max() > 0:
        trained = curve[curve["step"] > 0]
    best = trained.loc[trained["value"].idxmax()]
    marker = {"symbol": "star", "size": 14, "color": style.colour, "line": {"color": "white", "width": 1}}
    hover = f"{label}, best: %{{y:.1f}} at step %{{x:,}}<extra></extra>"
    look = {"marker": marker, "cliponaxis": False, "legendgroup": method, "hovertemplate": hover}
    star = {"x": [best["step"]], "y": [best["value"]]}
    figure.add_scatter(**star, mode="markers", **look, **{**place, "showlegend": False})


def plot_table_bars(tables: Sequence[tuple[str, pd.DataFrame]]) -> go.Figure:
    """Plot tables as bars, one panel each: our models in colour, published models in grey and marked “(paper)”.

    `tables`: Titles, and scores in points with the columns `label`, `kind` (published or own), `method`, `column`,
        `value`, and `low` and `high`, the limits of the 95% interval (may be missing).
    """
    title = "Scores beside the published ones"
    marked = [
        (name, rows.assign(label=rows["label"].where(rows["kind"] != "published", rows["label"] + " (paper)")))
        for name, rows in tables
        if not rows.empty
    ]
    if not marked:
        return empty_figure(title)
    return stack_bars(title, marked, _label_styles([rows for _, rows in marked]))


def _label_styles(tables: Sequence[pd.DataFrame]) -> dict[str, Style]:
    """Return the style of each model's label, the same in all panels."""
    series = pd.concat(list(tables)).drop_duplicates("label")
    own_series = series[series["kind"] == "own"]
    published = series[series["kind"] == "published"]
    return {
        **dict(zip(published["label"], cycle(PUBLISHED_STYLES), strict=False)),
        **dict(zip(own_series["label"], series_styles(list(own_series["method"])), strict=True)),
    }


SCATTER_HEIGHT = 480
"""Height of a panel in pixels"""


def plot_table_scatter(panels: Sequence[tuple[str, pd.DataFrame, str, str]]) -> go.Figure:
    """Plot models as points, one panel per pair of tables: our models in colour, published models in grey.

    `panels`: Title of the panel; scores in points with columns `label`, `kind`, `method`, `x`, `y`; titles of the
        axes.
    """
    title = "One kind of task against another"
    if not panels:
        return empty_figure(title)
    names = None
    if len(panels) > 1:
        names = [name for name, *_ in panels]
    else:
        title = panels[0][0]
    figure = subplots.make_subplots(rows=len(panels), cols=1, subplot_titles=names, vertical_spacing=0.24 / len(panels))
    styles = _label_styles([points for _, points, *_ in panels])
    for panel, (_, points, x_title, y_title) in enumerate(panels, start=1):
        # Neighbours' labels stand on different sides.
        sides = cycle(["top center", "bottom center"])
        for row, side in zip(points.sort_values("x").itertuples(), sides, strict=False):
            style = styles[row.label]
            marker = {"color": "#8C8C8C", "symbol": "circle-open", "size": 9, "line": {"width": 2}}
            text = row.label
            size = 11
            if row.kind == "own":
                marker = {"color": style.colour, "symbol": style.symbol, "size": 12, "line": {"width": 0}}
                text = f"<b>{row.label}</b>"
                size = 12
            label = {"text": [text], "textposition": side, "textfont_size": size}
            hover = f"{row.label}: %{{x:.1f}}, %{{y:.1f}}<extra></extra>"
            point = {"x": [row.x], "y": [row.y], "name": row.label, "hovertemplate": hover}
            figure.add_scatter(**point, **label, mode="markers+text", marker=marker, row=panel, col=1)
        figure.update_xaxes(title_text=x_title, range=_padded_range(points["x"]), row=panel, col=1)
        figure.update_yaxes(title_text=y_title, range=_padded_range(points["y"]), row=panel, col=1)
    figure.update_layout(showlegend=False)
    finish(figure, title, 60 + SCATTER_HEIGHT * len(panels))
    return figure.update_layout(margin={"t": 80, "b": 90, "l": 90})


def _padded_range(values: pd.Series) -> list[float]:
    """Return a range with space for labels at both ends."""
    low = float(values.min())
    high = float(values.max())
    room = max(1.0, (high - low) * 0.13)
    return [low - room, high + room]
