"""Versioned datasets of files and folders, saved atomically."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any, cast

from kedro.io.core import AbstractVersionedDataset, DatasetError, Version, VersionNotFoundError
from kedro_datasets._typing import PlotlyPreview, TablePreview
from kedro_datasets.json import JSONDataset as KedroJSONDataset
from kedro_datasets.plotly import JSONDataset as KedroPlotlyDataset

from ease.encoders.saved import RUN_FILE
from ease.errors import EaseError
from ease.io.addresses import located
from ease.io.atomic import atomic_path, flush_to_disk
from ease.io.files import read_json

ROWS_SHOWN = 200
"""Rows of a JSON list in a preview: all scores of a method, or all evaluations of a training."""
_EXACT_INTEGERS = 2**53
"""JavaScript rounds integers from this one on."""
_SMALL = 9
"""Text in pixels that can be read in the side panel and in the wide view."""
_GRID = "rgba(128, 128, 128, 0.3)"
"""Visible on Kedro-Viz's dark and light backgrounds."""


def table_preview(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> TablePreview:
    """Return rows in Kedro-Viz's form; a missing value is an empty cell."""

    def cell(value: Any) -> int | float | str:
        if value is None or value != value:
            return ""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if number and abs(value) < _EXACT_INTEGERS else str(value)

    data = [[cell(row.get(column)) for column in columns] for row in rows]
    return cast(TablePreview, {"index": [*range(len(data))], "columns": [*columns], "data": data})


def figure_preview(figure: dict[str, Any]) -> dict[str, Any]:
    """Return a Plotly figure whose title, legend and grid stay readable under Kedro-Viz's theme.

    The theme moves the title onto the plot area, shrinks the margin above to 64 pixels and styles the first axes alone.
    So the title becomes an annotation above the titles of panels, and the legend gets the line between them. The side
    panel is 350 pixels wide: the other axes, labels and the titles of panels get small text, and labels turn where they
    are too wide.
    """
    layout = dict(figure.get("layout", {}))
    title = (layout.pop("title", None) or {}).get("text", "")
    placed = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom"}
    heading = {"text": title, "showarrow": False, "yshift": 42, "font": {"size": 14}, **placed}
    notes = layout.get("annotations", ())
    layout["annotations"] = [*(_with_small(note, "font") for note in notes), heading]
    layout["legend"] = {**layout.get("legend", {}), "y": 0.975, "yref": "container", "yanchor": "top"}
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            kept = {key: value for key, value in axis.items() if key != "tickangle"}
            title = {**axis.get("title", {}), "font": {"size": _SMALL}, "standoff": 2}
            colours = dict.fromkeys(("gridcolor", "zerolinecolor", "linecolor"), _GRID)
            layout[name] = {**kept, **colours, "tickfont": {"size": _SMALL}, "title": title, "ticklen": 2}
    traces = figure.get("data", ())
    traces = [_with_small(trace, "textfont") if "text" in trace else trace for trace in traces]
    return {**figure, "data": traces, "layout": layout}


def _with_small(part: dict[str, Any], font: str) -> dict[str, Any]:
    return {**part, font: {**part.get(font, {}), "size": _SMALL}}


class AtomicSave:
    """Mixin that saves a version atomically, and then loads this version.

    A version is found by its final name, so a run that is killed during a save leaves no broken version. A saved
    version stays pinned: the run does not read an overlapping run's newer version. With `missing_ok`, a dataset without
    any version loads as an empty value.
    """

    _version: Version | None
    _aside = Path()
    """Where Kedro's datasets write a version that is not complete yet"""

    def __init__(self, *, missing_ok: bool = False, **options: Any) -> None:
        """Accept the options of Kedro's dataset."""
        super().__init__(**options)
        self.may_be_missing = missing_ok
        """Whether the dataset loads without any version"""

    @property
    def chosen_version(self) -> str | None:
        """The version that the run names; None: the newest."""
        return self._version.load if self._version else None

    def _path_to_load(self) -> Path | None:
        """Return the path of the version to load; None if there is none and `missing_ok` is set."""
        try:
            return self._at(self._get_load_path())  # type: ignore[attr-defined]
        except VersionNotFoundError as error:
            if self.may_be_missing and not isinstance(error.__cause__, EaseError):
                return None
            raise

    def _at(self, path: PurePosixPath) -> Path:
        # Kedro's datasets store the protocol separately.
        return located(f"{getattr(self, '_fs_prefix', '')}{path}")

    def folder_of(self, version: str) -> Path:
        """Return the folder that holds a version and its provenance."""
        return self._at(self._get_versioned_path(version)).parent  # type: ignore[attr-defined]

    def _get_save_path(self) -> PurePosixPath:
        return PurePosixPath(self._aside)

    def save(self, data: Any) -> None:
        """Write what Kedro's dataset writes, atomically."""
        with self._saving():
            super().save.__wrapped__(self, data)  # type: ignore[misc]

    @contextmanager
    def _saving(self) -> Iterator[Path]:
        """Yield the path to write to; the written file or folder gets its final name, and the version is pinned."""
        with atomic_path(self._at(super()._get_save_path())) as self._aside:  # type: ignore[misc]
            yield self._aside
        self._pin()

    def _pin(self) -> None:
        """Load the saved version from now on."""
        version = self.resolve_save_version()  # type: ignore[attr-defined]
        if version:
            self._version = Version(version, version)


class JSONDataset(AtomicSave, KedroJSONDataset):
    """A versioned JSON file; with `missing_ok`, a dataset without any version loads as an empty list."""

    def load(self) -> Any:
        """Read the file."""
        return [] if self._path_to_load() is None else KedroJSONDataset.load.__wrapped__(self)


class RowsDataset(JSONDataset):
    """A versioned JSON list of rows, which Kedro-Viz shows as a table."""

    def preview(self, columns: Sequence[str] | None = None, pivot: Sequence[str] | None = None) -> TablePreview:
        """Return the first rows, as the catalog entry's `preview_args` say.

        Args:
            columns: The columns to show; all by default.
            pivot: Names of the columns that give rows, columns and cells, if a row holds one value of many.
        """
        rows = self.load()
        if pivot:
            index, across, value = pivot
            wide: dict[Any, dict[str, Any]] = {}
            for row in rows:
                wide.setdefault(row[index], {index: row[index]})[row[across]] = row[value]
            rows = list(wide.values())
        every = dict.fromkeys(name for row in rows for name in row)
        return table_preview(columns or list(every), rows[:ROWS_SHOWN])


class ScoresDataset(RowsDataset):
    """A versioned list of scores; a new version keeps those scores of the older one that were not computed again.

    Each row has a `method` and its `model`. Older rows of another model of the same method are dropped, those of other
    methods stay. A save without rows changes nothing. Rows without a value are not saved.
    """

    def save(self, data: list[dict[str, Any]]) -> None:
        """Write the scores and the older ones that they do not replace."""
        data = [row for row in data if row["value"] is not None]
        scored = itemgetter("method", "task", "subset", "metric", "dimension")
        unknown = {"method": None, "model": None, "dimension": None}
        replaced = {scored(unknown | row) for row in data}
        models = {row.get("method"): row.get("model") for row in data}
        # Even if this run loads or saves another version
        newest = JSONDataset(filepath=str(self._filepath), version=Version(None, None), missing_ok=True)
        kept = [
            row
            for row in newest.load()
            if scored(unknown | row) not in replaced
            and models.get(row.get("method"), row.get("model")) == row.get("model")
        ]
        JSONDataset.save.__wrapped__(self, [*kept, *data])  # type: ignore[attr-defined]


class FigureDataset(AtomicSave, KedroPlotlyDataset):
    """A versioned Plotly figure (JSON), which Kedro-Viz shows."""

    def preview(self) -> PlotlyPreview:
        """Return the figure adapted to Kedro-Viz's theme."""
        return cast(PlotlyPreview, figure_preview(super().preview()))


class PathDataset(AtomicSave, AbstractVersionedDataset[Path, Any]):
    """A versioned file or folder, such as a saved model: saving moves a path, loading returns the version's path.

    The empty path makes no version: there is nothing to save. With `missing_ok`, a dataset without any version loads as
    None. With `link`, a symbolic link at that path points to the newest saved version, unless its run withholds it; it
    is outside the folder of versions, where Kedro does not take it for one.
    """

    def __init__(
        self,
        *,
        filepath: str,
        version: Version | None = None,
        metadata: dict[str, Any] | None = None,
        link: str | None = None,
        **options: Any,
    ) -> None:
        """Point to `filepath`, the folder of all versions."""
        super().__init__(filepath=PurePosixPath(filepath), version=version, **options)
        self.metadata, self.link = metadata, None if link is None else Path(link)

    def load(self) -> Any:
        """Return the version's path."""
        path = self._path_to_load()
        if path is not None and not path.exists():
            raise DatasetError(
                f"{path}: there is no such version of {self._filepath}. The folders beside it are the versions."
            )
        return path

    def save(self, data: Path) -> None:
        """Move `data` to the new version."""
        if data == Path():
            self._pin()
            return
        with self._saving() as aside:
            flush_to_disk(data)  # first, so that the move and the rename take one moment
            shutil.move(data, aside)
        saved = self._at(self._get_load_path())
        if self.link is None or (read_json(saved / RUN_FILE) or {}).get("withheld"):
            return
        with suppress(OSError, EaseError), atomic_path(self.link, flush=False) as new:  # not all systems have links
            new.symlink_to(os.path.relpath(saved, self.link.parent))

    def _exists(self) -> bool:
        return Path(self._get_load_path()).exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "version": self._version}
