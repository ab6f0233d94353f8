"""Encoders scored here: their scores, gathered from rows, with what they were made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple

import pandas as pd

from ease.encoders.options import RANDOM
from ease.evaluation.tasks import AVERAGE
from ease.reporting.plots import method_label
from ease.reporting.published import Model, Source, base_name

BASELINES = "baselines"
"""Stands for the setting of encoders that are scored without being trained here."""

UNTRAINED = "untrained"

COLUMNS = (
    *("setting", "method", "base", "pooling", "model", "sweep", "seed", "task", "subset", "metric"),
    *("value", "deviation", "note", "data", "code"),
)
"""Columns of rows of scores; those that are missing are taken for unknown.

`base` is the encoder that training started from, `model` the scored one's version or name, `sweep` the name of the
sweep that trained it, `deviation` that over a task's own repetitions, `data` the digest of the task's files.
"""


class Measured(NamedTuple):
    """A score, or the mean of several; over several seeds, the mean of each seed's."""

    mean: float | None
    deviation: float | None
    """The sample's standard deviation over seeds; None for a single one."""
    missing: tuple[Source, ...]
    note: str
    partial: bool
    """Whether an average among the scores lacks some of its subsets."""

    @property
    def comparable(self) -> bool:
        """Whether this is the figure that a paper's column means."""
        return self.mean is not None and not self.partial


@dataclass(frozen=True)
class OwnModel:
    """One encoder, or one recipe trained from several seeds."""

    setting: str
    method: str
    base: str
    pooling: str
    model: str
    sweep: str
    """That trained it; empty for a training of its own."""
    seeds: tuple[str, ...]
    """Of the trainings; empty for an encoder whose weights rest on no seed of ours."""
    rows: pd.DataFrame

    @property
    def name(self) -> str:
        """The model's name in tables."""
        return self.method if self.setting == BASELINES else f"{method_label(self.method)}, {self.setting}"

    @property
    def origin(self) -> str:
        """Say where its figures come from, and over how many seeds."""
        return f"here, {_count(self.seeds)}" if self.seeds else "here"

    @property
    def label(self) -> str:
        """The model's name where no column tells sweeps apart."""
        return f"{self.name} (sweep {self.sweep}, {_count(self.seeds)})" if self.sweep else self.name

    def measure(self, sources: Sequence[Source]) -> Measured:
        """Return a score, or the mean of several, where all of them are there for a seed."""
        found = {source: self._of(source) for source in sources}
        missing = tuple(source for source, rows in found.items() if rows.empty)
        notes = {source: note for source, rows in found.items() for note in rows["note"].unique() if note}
        partial = any(source.subset.startswith(AVERAGE) for source in notes)
        note = "; ".join(dict.fromkeys(notes.values()))
        values = pd.concat([rows.set_index("seed")["value"] for rows in found.values()], axis=1)
        means = [fmean(row) for row in values.dropna().to_numpy()]
        if missing or not means:
            return Measured(None, None, missing or tuple(sources), note, partial)
        return Measured(fmean(means), stdev(means) if len(means) > 1 else None, (), note, partial)

    def _of(self, source: Source) -> pd.DataFrame:
        scores = self.rows
        chosen = (scores["task"] == source.task) & (scores["subset"] == source.subset)
        return scores[chosen & (scores["metric"] == source.metric)]

    def is_like(self, published: Model) -> bool:
        """Whether a published model is this one: the same checkpoint, or the same method from the same encoder."""
        last = base_name(self.model)
        if self.setting == BASELINES and any(base_name(name) == last for name in published.checkpoints):
            return True
        method = UNTRAINED if self.setting == BASELINES else self.method
        same_pooling = not published.pooling or not self.pooling or published.pooling == self.pooling
        same_method = method in (published.method, *published.variants)
        return same_method and same_pooling and base_name(self.base) == base_name(published.base)


def gather_models(rows: Iterable[dict[str, object]]) -> list[OwnModel]:
    """Part rows of scores by the model that they are of, in their order.

    Args:
        rows: With those of `COLUMNS` that are known.
    """
    scores = pd.DataFrame(list(rows)).reindex(columns=list(COLUMNS))
    texts = ["setting", "method", "base", "pooling", "model", "sweep", "note", "data", "code"]
    scores[texts] = scores[texts].astype(object).fillna("").astype(str)
    scores["seed"] = [str(int(seed)) if pd.notna(seed) else "" for seed in scores["seed"]]
    keys = ["setting", "method", "base", "pooling", "model", "sweep"]
    unique = scores.drop_duplicates([*keys, "seed", "task", "subset", "metric"], keep="last")
    models = []
    for key, group in unique.groupby(keys, sort=False):
        about = dict(zip(keys, key, strict=True))
        models.append(OwnModel(**about, seeds=_seeds(about, group), rows=group))
    return models


def _seeds(about: dict[str, Any], rows: pd.DataFrame) -> tuple[str, ...]:
    """The seeds of a model's trainings, an unknown one included."""
    pretrained = about["method"] == UNTRAINED and not about["base"].startswith(RANDOM)
    return () if about["setting"] == BASELINES or pretrained else tuple(rows["seed"].unique())


def _count(seeds: Sequence[str]) -> str:
    return f"{len(seeds)} seed{'' if len(seeds) == 1 else 's'}"
