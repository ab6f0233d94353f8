"""Static pictures of the figures in this package.

A page that shows a Plotly figure without a network contains all of plotly.js, 4.6 MB; a picture has some 50 kB. Plotly
itself makes pictures by a browser, so matplotlib draws them, from the traces and layout options that the figures use.
"""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ease.reporting.plots.style import TEXT_COLOUR

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 1000
"""Width of a picture in pixels, without labels that stand beyond the plots"""
DPI = 100
POINTS_PER_PIXEL = 72 / DPI
SYMBOLS = {
    "circle": "o",
    "cross": "P",
    "diamond": "D",
    "hexagon": "h",
    "pentagon": "p",
    "square": "s",
    "star": "*",
    "triangle-up": "^",
    "x": "X",
}
DASHES: dict[str, Any] = {
    "dash": "--",
    "dashdot": "-.",
    "dot": ":",
    "longdash": (0, (8, 3)),
    "longdashdot": (0, (8, 3, 2, 3)),
}
GRID_COLOUR = "#E0E0E0"
VERTICAL = {None: "center", "middle": "center", "top": "top", "bottom": "bottom"}


def picture_svg(figure: go.Figure) -> str:
    """Return a figure as SVG, with texts as texts: viewers search them, and have fonts for all scripts."""
    import matplotlib

    file = StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        # Of glyphs that matplotlib's font lacks; the viewer draws them.
        warnings.simplefilter("ignore", UserWarning)
        draw_picture(figure).savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    return file.getvalue()


def draw_picture(figure: go.Figure) -> Figure:
    """Draw a figure with matplotlib, without the texts that Plotly shows under the mouse."""
    from matplotlib.figure import Figure

    layout = figure.layout
    height = layout.height
    picture = Figure((WIDTH / DPI, height / DPI), dpi=DPI)
    margin = layout.margin
    left = margin.l / WIDTH
    bottom = margin.b / height
    area = (left, bottom, 1 - margin.r / WIDTH - left, 1 - margin.t / height - bottom)
    traces = defaultdict(list)
    for trace in figure.data:
        traces[trace.xaxis or "x", trace.yaxis or "y"].append(trace)
    axes: dict[tuple[str, str], Axes] = {}
    for x_name, y_name in traces:
        domains = [layout[_axis_key(name)].domain or (0, 1) for name in (x_name, y_name)]
        axes[x_name, y_name] = picture.add_axes(_rectangle(area, *domains))
    _share_axes(axes, layout)
    legend: dict[str, Any] = {}
    for (x_name, y_name), panel in axes.items():
        _add_bars(panel, [trace for trace in traces[x_name, y_name] if trace.type == "bar"], layout, legend)
        for trace in traces[x_name, y_name]:
            if trace.type == "scatter":
                _add_points(panel, trace, legend)
        _set_axis(panel, "x", layout[_axis_key(x_name)])
        _set_axis(panel, "y", layout[_axis_key(y_name)])
    _add_notes(picture, area, axes, layout)
    if layout.title.text:
        picture.text(0.01, 1, _plain(layout.title.text), fontsize=13, va="bottom", color=TEXT_COLOUR)
    if layout.showlegend is not False and (len(legend) > 1 or any(trace.showlegend for trace in figure.data)):
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (left, 1)}
        picture.legend(legend.values(), legend, ncols=3, frameon=False, labelcolor=TEXT_COLOUR, **place)
    return picture


def _share_axes(axes: Mapping[tuple[str, str], Axes], layout: Any) -> None:
    """Give panels the axes of the panels that theirs match."""
    for (x_name, y_name), panel in axes.items():
        for (other_x, other_y), other in axes.items():
            if layout[_axis_key(x_name)].matches == other_x:
                panel.sharex(other)
            if layout[_axis_key(y_name)].matches == other_y:
                panel.sharey(other)


def _axis_key(name: str) -> str:
    """Return the layout's key of an axis that traces call `x2`: `xaxis2`."""
    return f"{name[0]}axis{name[1:]}"


def _rectangle(
    area: tuple[float, float, float, float], columns: Sequence[float], rows: Sequence[float]
) -> tuple[float, float, float, float]:
    """Return left, bottom, width and height of a panel whose place is given in shares of the area of all panels."""
    left, bottom, width, height = area
    return (
        left + columns[0] * width,
        bottom + rows[0] * height,
        (columns[1] - columns[0]) * width,
        (rows[1] - rows[0]) * height,
    )


def _add_bars(panel: Axes, traces: Sequence[Any], layout: Any, legend: dict[str, Any]) -> None:
    """Add bars beside, upon or before each other, as the layout's `barmode` says."""
    if not traces:
        return
    draw: Any = panel.bar
    along = "y"
    across = "x"
    categories: dict[Any, int] = {}
    if traces[0].orientation == "h":
        draw = panel.barh
        along = "x"
        across = "y"
        # All horizontal bars of this package have names.
        for name in (name for trace in traces for name in trace.y):
            categories.setdefault(name, len(categories))
        panel.set_yticks(list(categories.values()), list(map(str, categories)))
    groups = list(dict.fromkeys(trace.offsetgroup or trace.name for trace in traces))
    thickness = 1 - (layout.bargap or 0.2)
    ends: dict[Any, float] = defaultdict(float)
    for trace in traces:
        values = np.asarray(trace[along], dtype=float)
        centres = np.array([categories.get(name, name) for name in trace[across]], dtype=float)
        size = trace.width or thickness
        starts = np.zeros(len(values))
        if layout.barmode == "group":
            size = thickness / len(groups)
            centres += (groups.index(trace.offsetgroup or trace.name) + 0.5) * size - thickness / 2
        elif layout.barmode == "stack":
            starts += [ends[centre] for centre in centres]
            for centre, value in zip(centres, np.nan_to_num(values), strict=True):
                ends[centre] += value
        bars = draw(centres, values, size, starts, **_bar_look(trace))
        if trace.showlegend is not False and trace.name:
            legend.setdefault(trace.name, bars)
        if trace.text is not None:
            _add_bar_texts(panel, trace, starts + values, centres)


def _bar_look(trace: Any) -> dict[str, Any]:
    """Return matplotlib's options for the colour, pattern and whiskers of bars."""
    colour, opacity = _colour(trace.marker.color)
    look: dict[str, Any] = {"color": colour, "alpha": opacity * (trace.opacity or 1), "linewidth": 0}
    if trace.marker.pattern.shape:
        # Plotly's patterns have the characters of matplotlib's; a second one makes the lines denser.
        look |= {"hatch": 2 * trace.marker.pattern.shape, "edgecolor": "white"}
    if trace.error_x.array is not None:
        whiskers = np.array([trace.error_x.arrayminus, trace.error_x.array], dtype=float)
        look |= {"xerr": np.nan_to_num(whiskers), "error_kw": {"elinewidth": 0.8, "ecolor": TEXT_COLOUR}}
    return look


def _add_bar_texts(panel: Axes, trace: Any, ends: Iterable[float], centres: Iterable[float]) -> None:
    """Add texts at the ends of horizontal bars, beyond or within them."""
    look: dict[str, Any] = {"ha": "right", "color": "white", "xytext": (-4, 0)}
    if trace.textposition == "outside":
        look = {"ha": "left", "color": TEXT_COLOUR, "xytext": (4, 0)}
    for end, centre, text in zip(ends, centres, trace.text, strict=True):
        panel.annotate(_plain(text), (end, centre), textcoords="offset points", va="center", fontsize=8, **look)


def _add_points(panel: Axes, trace: Any, legend: dict[str, Any]) -> None:
    """Add a line, points, or both; texts of points stand above or below."""
    mode = trace.mode or "lines"
    colour, opacity = _colour(trace.line.color or trace.marker.color)
    look: dict[str, Any] = {"color": colour, "alpha": opacity * (trace.marker.opacity or 1), "linestyle": "none"}
    if "lines" in mode:
        look |= {"linestyle": DASHES.get(trace.line.dash, "-"), "linewidth": (trace.line.width or 2) * POINTS_PER_PIXEL}
    if "markers" in mode:
        symbol = trace.marker.symbol or "circle"
        size = (trace.marker.size or 6) * POINTS_PER_PIXEL
        look |= {"marker": SYMBOLS.get(symbol.removesuffix("-open"), "o"), "markersize": size, "markeredgewidth": 0}
        if symbol.endswith("-open"):
            look |= {"markerfacecolor": "none", "markeredgewidth": 1.5}
    # Missing values interrupt a line.
    x, y = (np.array([np.nan if value is None else value for value in trace[axis]], dtype=float) for axis in "xy")
    (line,) = panel.plot(x, y, **look)
    if trace.showlegend is not False and trace.name:
        legend.setdefault(trace.name, line)
    if "text" not in mode:
        return
    side: dict[str, Any] = {"va": "top", "xytext": (0, -8)}
    if trace.textposition.startswith("top"):
        side = {"va": "bottom", "xytext": (0, 8)}
    for point_x, point_y, text in zip(x, y, trace.text, strict=True):
        place = {"textcoords": "offset points", "ha": "center", **side}
        panel.annotate(_plain(text), (point_x, point_y), fontsize=9, color=TEXT_COLOUR, **place)


def _set_axis(panel: Axes, direction: Literal["x", "y"], axis: Any) -> None:
    """Set an axis's title, scale and ticks, and its range if no other axis has it."""
    from matplotlib.ticker import PercentFormatter

    panel_axis: Any = panel.xaxis
    labels = "labelbottom"
    if direction == "y":
        panel_axis = panel.yaxis
        labels = "labelleft"
    if axis.type == "log":
        panel.set(**{f"{direction}scale": "log"})
    if not axis.matches:
        _set_range(panel_axis, axis)
    if axis.scaleanchor:
        panel.set_aspect("equal", adjustable="datalim")
    if axis.tickvals is not None:
        panel_axis.set_ticks(list(axis.tickvals), list(map(str, axis.ticktext)))
    if axis.tickformat == ".0%":
        panel_axis.set_major_formatter(PercentFormatter(1, 0))
    panel_axis.set_label_text(_plain(axis.title.text or ""), color=TEXT_COLOUR)
    shows_labels = axis.showticklabels is not False
    panel.tick_params(direction, length=0, colors=TEXT_COLOUR, labelsize=9, **{labels: shows_labels})
    # Lines at categories would cross the bars' numbers.
    if axis.showgrid is not False and axis.type != "category" and axis.tickvals is None:
        panel_axis.grid(visible=True, color=GRID_COLOUR, linewidth=0.8)
    panel.set_axisbelow(True)
    for spine in panel.spines.values():
        spine.set_visible(bool(axis.showline))
        spine.set_color(GRID_COLOUR)


def _set_range(panel_axis: Any, axis: Any) -> None:
    """Set the limits of a matplotlib axis from those of Plotly's."""
    if axis.range is not None:
        low, high = axis.range
        if axis.type == "log":
            # Plotly has them in decades.
            low = 10**low
            high = 10**high
        panel_axis.axes.set(**{f"{panel_axis.axis_name}lim": (low, high)})
    elif axis.rangemode == "tozero":
        panel_axis.axes.set(**{f"{panel_axis.axis_name}lim": (0, 1.05 * panel_axis.get_view_interval()[1])})
    if axis.autorange == "reversed":
        panel_axis.set_inverted(True)


def _add_notes(
    picture: Figure, area: tuple[float, float, float, float], axes: dict[tuple[str, str], Axes], layout: Any
) -> None:
    """Add the titles of panels, and lines and texts at places of the data."""
    for note in layout.annotations:
        text = _plain(note.text)
        side: dict[str, Any] = {"ha": note.xanchor or "center", "va": VERTICAL[note.yanchor], "color": TEXT_COLOUR}
        if note.xref == "paper":
            place = (area[0] + note.x * area[2], area[1] + note.y * area[3])
            picture.text(*place, text, fontsize=11, **side)
        elif axes:
            panel = axes[note.xref or "x", note.yref or "y"]
            panel.text(note.x, note.y, text, fontsize=9, **side)
        else:
            # The figure of an empty table has a text alone.
            picture.text(0.5, 0.5, text, fontsize=11, **side)
    for shape in layout.shapes:
        panel = axes[shape.xref or "x", shape.yref or "y"]
        colour, opacity = _colour(shape.line.color)
        panel.plot([shape.x0, shape.x1], [shape.y0, shape.y1], color=colour, alpha=opacity, linewidth=1.5)


def _colour(colour: str | None) -> tuple[str | tuple[float, ...], float]:
    """Return a colour as matplotlib reads it, and its opacity."""
    if colour is None:
        return TEXT_COLOUR, 1.0
    if not colour.startswith("rgba"):
        return colour, 1.0
    *parts, opacity = map(float, re.findall(r"[\d.]+", colour))
    return tuple(part / 255 for part in parts), opacity


def _plain(text: str) -> str:
    """Return a text without Plotly's markup; the dollar sign is not mathematics."""
    return re.sub(r"<[^>]*>", "", str(text).replace("<br>", "\n")).replace("$", r"\$")
