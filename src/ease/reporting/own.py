"""Encoders scored in this project: their scores with model, data and code versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pandas as pd

from ease.encoders.options import RANDOM
from ease.evaluation.resampling import Interval, Resampled, interval, seed_interval
from ease.evaluation.score_cache import read_resampled
from ease.evaluation.scoring import BASELINES
from ease.evaluation.tasks import AVERAGE
from ease.methods import UNTRAINED
from ease.reporting.plots import method_label
from ease.reporting.published import Model, Source, base_name

ENCODING = "revision used_pooling normalized embedding_dimension precision max_length prompt".split()
"""Columns of rows of scores that say how texts were embedded"""

_MODEL = ["setting", "method", "base", "pooling", "model", "sweep"]
_SCORE = "seed task subset metric value deviation low high note data code items".split()
COLUMNS = (*_MODEL, *_SCORE, *ENCODING)
"""Columns of rows of scores; missing ones are unknown.

`base` is the encoder that training started from, `model` the version or name of the scored encoder, `sweep` the sweep
that trained it, `deviation` the standard deviation over the task's repetitions, `low` and `high` the limits of the 95%
interval over the test items, `data` the digest of the task's files, `items` the file of the items in the folder of the
cache. The last ones are how the encoder embedded the texts.
"""


@dataclass(frozen=True, eq=False)
class Cell:
    """A score in points or the mean of several, averaged over seeds, with one decimal in tables; None is a dash."""

    value: float | None = None
    deviation: float | None = None  # sample standard deviation over seeds; None for one seed
    missing: tuple[Source, ...] = ()
    note: str = ""
    partial: bool = False  # whether one of the scores is an average without some subsets
    interval: Interval | None = None
    """95% interval: over training seeds if there are several, else over the test items."""
    resampled: Resampled | None = None  # means of the scores of paired resamples of the test items
    data: tuple[str, ...] = ()  # digests of the test files; resampled scores of other files are not paired
    signed: bool = False
    best: bool = False
    footnote: int | None = None

    @property
    def comparable(self) -> bool:
        """Whether a published score may be compared with this one."""
        return self.value is not None and not self.partial

    @property
    def limits(self) -> str:
        """The formatted 95% interval; empty if unknown."""
        return f"[{', '.join(map(_points, self.interval))}]" if self.interval else ""

    @property
    def text(self) -> str:
        """The formatted score with its standard deviation."""
        if self.value is None:
            return "\N{EN DASH}"
        spread = "" if self.deviation is None else f" ± {self.deviation:.1f}"
        return ("+" if self.signed and round(self.value, 1) > 0 else "") + _points(self.value) + spread


def _points(value: float) -> str:
    # + 0.0 turns negative zero into zero
    return f"{round(value, 1) + 0.0:.1f}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True)
class OwnModel:
    """One encoder, or one recipe trained from several seeds."""

    setting: str
    method: str
    base: str
    pooling: str
    model: str
    sweep: str  # sweep that trained it; empty if none
    seeds: tuple[str, ...]  # training seeds; empty for encoders that are not trained here
    rows: pd.DataFrame
    cache: Path | None = None  # folder of the files of items

    @property
    def name(self) -> str:
        """The model's name in tables."""
        return self.method if self.setting == BASELINES else f"{method_label(self.method)}, {self.setting}"

    @property
    def _seeds(self) -> str:
        return f"{len(self.seeds)} seed{'' if len(self.seeds) == 1 else 's'}"

    @property
    def origin(self) -> str:
        """Origin of its scores, with the number of seeds."""
        return f"here, {self._seeds}" if self.seeds else "here"

    @property
    def label(self) -> str:
        """The model's name with its sweep."""
        return f"{self.name} (sweep {self.sweep}, {self._seeds})" if self.sweep else self.name

    def measure(self, sources: Sequence[Source]) -> Cell:
        """Return the mean of the sources over all seeds that have every one of them."""
        found = {source: self._rows_by_source.get(source, self.rows.iloc[:0]) for source in sources}
        missing = tuple(source for source, rows in found.items() if rows.empty)
        notes = {source: note for source, rows in found.items() for note in rows["note"].unique() if note}
        partial = any(source.subset.startswith(AVERAGE) for source in notes)
        note = "; ".join(dict.fromkeys(notes.values()))
        if missing:
            return Cell(None, None, missing, note, partial)
        values = pd.concat([rows.set_index("seed")["value"] for rows in found.values()], axis=1).dropna()
        means = [fmean(row) for row in values.to_numpy()]
        if not means:
            return Cell(None, None, tuple(sources), note, partial)
        kept = pd.concat([rows[rows["seed"].isin(values.index)] for rows in found.values()])
        resampled = self._resampled(kept)
        limits, spread = kept[["low", "high"]].to_numpy(dtype=float), None
        if len(means) > 1:
            spread = seed_interval(means)
        elif resampled is not None:
            spread = interval(resampled)
        elif len(kept) == 1 and np.isfinite(limits).all():  # the interval of a mean is unknown
            spread = Interval(*map(float, limits[0]))
        deviation = stdev(means) if len(means) > 1 else None
        data = tuple(sorted(kept["data"].unique()))
        return Cell(fmean(means), deviation, (), note, partial, spread, resampled, data)

    def _resampled(self, rows: pd.DataFrame) -> Resampled | None:
        """Return the mean of the rows' resampled scores; None if one of them is not kept."""
        values = []
        for items, subset, metric in zip(rows["items"], rows["subset"], rows["metric"], strict=True):
            kept = kept_resamples(self.cache / items) if self.cache and items else {}
            if (subset, metric) not in kept:
                return None
            values.append(kept[subset, metric])
        return np.mean(values, axis=0)

    @cached_property
    def _rows_by_source(self) -> dict[tuple[str, str, str], pd.DataFrame]:
        return dict(iter(self.rows.groupby(["task", "subset", "metric"], sort=False)))

    def is_like(self, published: Model) -> bool:
        """Whether a published model is the same checkpoint, or the same method from the same encoder."""
        is_baseline = self.setting == BASELINES
        if is_baseline and base_name(self.model) in map(base_name, published.checkpoints):
            return True
        method = UNTRAINED if is_baseline else self.method
        return (
            method in (published.method, *published.variants)
            and (not published.pooling or not self.pooling or published.pooling == self.pooling)
            and base_name(self.base) in map(base_name, (published.base, *published.bases))
        )


@lru_cache(maxsize=64)
def kept_resamples(file: Path) -> dict[tuple[str, str], Resampled]:
    """Return the resampled scores of a task by subset and metric; nothing if the file has been deleted."""
    return read_resampled(file) if file.is_file() else {}


def gather_models(rows: Iterable[dict[str, object]], cache: Path | None = None) -> list[OwnModel]:
    """Group rows of scores, with some of `COLUMNS`, by model, in order.

    `cache`: Folder of the files of items; without it, encoders are not compared on the same items.
    """
    scores = pd.DataFrame(list(rows)).reindex(columns=list(COLUMNS))
    texts = [*_MODEL, "note", "data", "code", "items"]
    scores[texts] = scores[texts].astype(object).fillna("").astype(str)
    scores["seed"] = [str(int(seed)) if pd.notna(seed) else "" for seed in scores["seed"]]
    unique = scores.drop_duplicates([*_MODEL, "seed", "task", "subset", "metric"], keep="last")
    models = []
    for key, group in unique.groupby(_MODEL, sort=False):
        about = dict(zip(_MODEL, key, strict=True))
        # Weights depend on a seed, which may be unknown, if they were trained or drawn here.
        pretrained = about["method"] == UNTRAINED and not about["base"].startswith(RANDOM)
        seeds = () if about["setting"] == BASELINES or pretrained else tuple(group["seed"].unique())
        models.append(OwnModel(**about, seeds=seeds, rows=group, cache=cache))
    return models


SHOWN_COMMIT = 12  # digits of a commit that are shown


def encoding_text(rows: pd.DataFrame) -> str:
    """Return pooling, normalisation, dimension, precision, length, commit and prompts; empty if they are not recorded.

    `rows`: Rows of scores of one encoder, with the columns `ENCODING` and `task`.
    """
    known = rows.dropna(subset=["embedding_dimension"])
    if known.empty:
        return ""
    row = {name: value for name, value in known.iloc[-1].items() if pd.notna(value) and value != ""}
    parts = [
        f"{row['used_pooling']} pooling" if "used_pooling" in row else "",
        "normalized" if row.get("normalized") else "",
        f"{int(row['embedding_dimension'])} dimensions",
        str(row.get("precision", "")),
        f"at most {int(row['max_length'])} tokens" if "max_length" in row else "",
        f"commit {str(row['revision'])[:SHOWN_COMMIT]}" if "revision" in row else "",
    ]
    prompts = [f"prompt “{prompt}”" for prompt in known["prompt"].dropna().unique() if prompt]
    return "; ".join([", ".join(filter(None, parts)), *prompts])
