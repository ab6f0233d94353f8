"""Versioned datasets of files and folders, saved atomically."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

from kedro.io.core import AbstractVersionedDataset, DatasetError, Version, VersionNotFoundError
from kedro_datasets._typing import PlotlyPreview, TablePreview
from kedro_datasets.json import JSONDataset as KedroJSONDataset
from kedro_datasets.plotly import JSONDataset as KedroPlotlyDataset

from ease.datasets.previews import figure_preview, table_preview
from ease.encoders.saved import RUN_FILE
from ease.errors import EaseError
from ease.io.addresses import located
from ease.io.atomic import atomic_path, flush_to_disk
from ease.io.files import read_json
from ease.io.versions import linked_version

logger = logging.getLogger(__name__)

ROWS_SHOWN = 200
"""Rows of a JSON list in a preview: all scores of a method, or all evaluations of a training run."""


class AtomicSave:
    """Mixin that saves a version atomically, and then loads this version.

    A version is found by its final name, so a run that is killed during a save leaves no broken version. A saved
    version stays pinned: the run does not read an overlapping run's newer version. With `missing_ok`, a dataset without
    any version loads as an empty value. With `follows`, a symbolic link to a version of another dataset, the version of
    the same name is loaded by default, if there is one: a training run's history belongs to its encoder.
    """

    _version: Version | None
    _aside = Path()
    """Where Kedro's datasets write a version that is not complete yet"""

    def __init__(self, *, missing_ok: bool = False, follows: str | None = None, **options: Any) -> None:
        """Accept the options of Kedro's dataset."""
        super().__init__(**options)
        self._follows = follows
        self.may_be_missing = missing_ok
        """Whether the dataset loads without any version"""

    @property
    def chosen_version(self) -> str | None:
        """The version that the run names; None: the newest."""
        if self._version is None:
            return None
        return self._version.load

    def _fetch_latest_load_version(self) -> str:
        if self._follows and Path(self._follows).is_symlink():
            version = Path(self._follows).resolve().parent.name
            if Path(self._get_versioned_path(version)).exists():  # type: ignore[attr-defined]
                return version
        return super()._fetch_latest_load_version()  # type: ignore[misc]

    def _path_to_load(self) -> Path | None:
        """Return the path of the version to load; None if there is none and `missing_ok` is set."""
        try:
            return self._at(self._get_load_path())  # type: ignore[attr-defined]
        except VersionNotFoundError as error:
            # Kedro also reports a store that cannot be reached as a missing version.
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
        # Kedro wraps the method of each subclass, and the outer wrapper has logged and checked the save already.
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
        # Another run may have saved a newer version meanwhile.
        version = self.resolve_save_version()  # type: ignore[attr-defined]
        if version:
            self._version = Version(version, version)


class JSONDataset(AtomicSave, KedroJSONDataset):
    """A versioned JSON file; with `missing_ok`, a dataset without any version loads as an empty list."""

    def load(self) -> Any:
        """Read the file."""
        if self._path_to_load() is None:
            return []
        return KedroJSONDataset.load.__wrapped__(self)


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
            row_name, column_name, cell_name = pivot
            wide_rows: dict[Any, dict[str, Any]] = {}
            for row in rows:
                wide_row = wide_rows.setdefault(row[row_name], {row_name: row[row_name]})
                wide_row[row[column_name]] = row[cell_name]
            rows = list(wide_rows.values())
        all_columns = dict.fromkeys(name for row in rows for name in row)
        return table_preview(columns or list(all_columns), rows[:ROWS_SHOWN])


class ScoresDataset(RowsDataset):
    """A versioned list of scores; a new version keeps those scores of the older one that were not computed again.

    Each row has a `method` and its `model`. Older rows of another model of the same method are dropped, those of other
    methods stay. A save without rows changes nothing. Rows without a value are not saved.
    """

    def save(self, data: list[dict[str, Any]]) -> None:
        """Write the scores and the older ones that they do not replace."""
        data = [row for row in data if row["value"] is not None]
        key_columns = itemgetter("method", "task", "subset", "metric", "dimension")
        # Baselines have no method, and only truncated embeddings have a dimension.
        defaults = {"method": None, "model": None, "dimension": None}
        new_keys = {key_columns(defaults | row) for row in data}
        new_models = {row.get("method"): row.get("model") for row in data}
        older_rows = []
        # The newest version, even if this run loads or saves another one.
        newest = JSONDataset(filepath=str(self._filepath), version=Version(None, None), missing_ok=True)
        for row in newest.load():
            model = row.get("model")
            is_same_model = new_models.get(row.get("method"), model) == model
            if is_same_model and key_columns(defaults | row) not in new_keys:
                older_rows.append(row)
        JSONDataset.save.__wrapped__(self, [*older_rows, *data])  # type: ignore[attr-defined]


class FigureDataset(AtomicSave, KedroPlotlyDataset):
    """A versioned Plotly figure (JSON), which Kedro-Viz shows."""

    def preview(self) -> PlotlyPreview:
        """Return the figure adapted to Kedro-Viz's theme."""
        return figure_preview(super().preview())


class PathDataset(AtomicSave, AbstractVersionedDataset[Path, Any]):
    """A versioned file or folder, such as a saved model: saving moves a path, loading returns the version's path.

    The empty path makes no version: there is nothing to save. With `missing_ok`, a dataset without any version loads as
    None. With `link`, a symbolic link at that path points to the version saved last, unless its run withholds it, or to
    the version that was promoted since. The link's version is loaded by default, so that runs, search and users have
    the same one. The link is outside the folder of versions, where Kedro does not take it for one.
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
        self.metadata = metadata
        self.link: Path | None = None
        if link is not None:
            self.link = Path(link)

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
        record = read_json(self._at(self._get_load_path()) / RUN_FILE) or {}
        if not record.get("withheld"):
            self.promote()

    def promote(self) -> None:
        """Point the link to the version that is loaded, even if the run that saved it withheld the version."""
        if self.link is None:
            return
        version = self._at(self._get_load_path())
        try:
            with atomic_path(self.link, flush=False) as new_link:
                # A relative link stays right in a moved project.
                new_link.symlink_to(os.path.relpath(version, self.link.parent))
        except (OSError, EaseError) as error:
            # Not all systems have links. What is there, such as a copy of an older model, is not the one just saved.
            if os.path.lexists(self.link):
                logger.warning("%s is not the version just saved, %s: %s", self.link, version, error)

    def linked_version(self) -> str | None:
        """Return the name of the version to which the link leads; None without such a link."""
        version = None
        if self.link is not None:
            version = linked_version(Path(self._filepath), self.link)
        if version is None:
            return None
        return version.parent.name

    def _fetch_latest_load_version(self) -> str:
        return self.linked_version() or super()._fetch_latest_load_version()

    def _exists(self) -> bool:
        return Path(self._get_load_path()).exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "version": self._version}
