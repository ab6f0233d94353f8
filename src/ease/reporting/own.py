"""Encoders scored in this project: their scores with model, data and code versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from html import escape
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

from ease.encoders.options import RANDOM
from ease.evaluation.resampling import Interval, Resampled, interval, seed_interval
from ease.evaluation.score_cache import read_resampled
from ease.evaluation.scores import AVERAGE
from ease.evaluation.scoring import BASELINES
from ease.lazy import pd
from ease.methods import UNTRAINED
from ease.reporting.plots import method_label
from ease.reporting.published import PaperModel, ScoreKey, base_name

ENCODING = "revision used_pooling normalized embedding_dimension precision max_length prompt".split()
"""Columns of rows of scores that say how texts were embedded"""

_MODEL = ["setting", "method", "base", "pooling", "model", "sweep"]
_SCORE = "seed task subset metric value deviation low high main task_type note data code items".split()
SCORE_COLUMNS = (*_MODEL, *_SCORE, *ENCODING, "parameters", "seconds", "run_id")
"""Columns of rows of scores; a missing column is unknown.

`base` is the encoder that training started from, `model` the version or name of the scored encoder, `sweep` the sweep
that trained it, `deviation` the standard deviation over the task's repetitions, `low` and `high` the limits of the 95%
interval over the test items, `main` whether the metric is the task's main one, `task_type` MTEB's type of the task,
`data` the digest of the task's files, `items` the file of the items in the folder of the cache. The columns
`ENCODING` say how the encoder embedded the texts, `parameters` has the training run's parameters by dotted names,
`seconds` is the time of its steps, `run_id` its run in MLflow.
"""


@dataclass(frozen=True, eq=False)
class ScoreCell:
    """A score in points or the mean of several, averaged over seeds, with one decimal in tables; None is a dash."""

    value: float | None = None
    deviation: float | None = None
    """Sample standard deviation over seeds; None for one seed"""
    missing: tuple[ScoreKey, ...] = ()
    note: str = ""
    partial: bool = False
    """Whether one of the scores is an average without some subsets"""
    interval: Interval | None = None
    """95% interval: over training seeds if there are several, else over the test items"""
    resampled: Resampled | None = None
    """Mean scores over paired resamples of the test items"""
    data: tuple[str, ...] = ()
    """Digests of the test files; resampled scores of other files are not paired."""
    signed: bool = False
    best: bool = False
    footnote: int | None = None

    @property
    def comparable(self) -> bool:
        """Whether a published score may be compared with this score."""
        return self.value is not None and not self.partial

    @property
    def limits(self) -> str:
        """The formatted 95% interval; empty if unknown."""
        if self.interval is None:
            return ""
        return f"[{', '.join(map(_points, self.interval))}]"

    @property
    def text(self) -> str:
        """The formatted score with its standard deviation."""
        if self.value is None:
            return "\N{EN DASH}"
        text = _points(self.value)
        if self.signed and round(self.value, 1) > 0:
            text = f"+{text}"
        if self.deviation is not None:
            text += f" ± {self.deviation:.1f}"
        return text


def _points(value: float) -> str:
    # + 0.0 turns negative zero into zero.
    return f"{round(value, 1) + 0.0:.1f}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True)
class OwnModel:
    """One encoder, or one recipe trained from several seeds."""

    setting: str
    method: str
    base: str
    pooling: str
    model: str
    sweep: str
    """Sweep that trained the model; empty if none"""
    seeds: tuple[str, ...]
    """Training seeds; empty for encoders that are not trained here"""
    rows: pd.DataFrame
    cache: Path | None = None
    """Folder of the files of items"""

    @property
    def name(self) -> str:
        """The model's name in tables."""
        if self.setting == BASELINES:
            return self.method
        return f"{method_label(self.method)}, {self.setting}"

    @property
    def _seed_count(self) -> str:
        if len(self.seeds) == 1:
            return "1 seed"
        return f"{len(self.seeds)} seeds"

    @property
    def origin(self) -> str:
        """Origin of the scores, with the number of seeds."""
        if not self.seeds:
            return "here"
        return f"here, {self._seed_count}"

    @property
    def label(self) -> str:
        """The model's name with its sweep."""
        if not self.sweep:
            return self.name
        return f"{self.name} (sweep {self.sweep}, {self._seed_count})"

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters of the training run by dotted names; empty if they are not recorded."""
        recorded = [value for value in self.rows["parameters"] if isinstance(value, dict)]
        return next(reversed(recorded), {})

    def measure(self, keys: Sequence[ScoreKey]) -> ScoreCell:
        """Return the mean of some scores over all seeds that have every one of them."""
        rows_by_key = {key: self._rows_by_key.get(key, self.rows.iloc[:0]) for key in keys}
        missing = tuple(key for key, rows in rows_by_key.items() if rows.empty)
        # The seeds of a score may have different notes.
        notes = [(key, note) for key, rows in rows_by_key.items() for note in rows["note"].unique() if note]
        cell = ScoreCell(
            note="; ".join(dict.fromkeys(note for _, note in notes)),
            # A note on an average says that it lacks subsets.
            partial=any(key.subset.startswith(AVERAGE) for key, _ in notes),
        )
        if missing:
            return replace(cell, missing=missing)
        # A column per score and a row per seed: seeds that lack a score are dropped.
        values = pd.concat([rows.set_index("seed")["value"] for rows in rows_by_key.values()], axis=1).dropna()
        means = [fmean(row) for row in values.to_numpy()]
        if not means:
            return replace(cell, missing=tuple(keys))
        complete = pd.concat([rows[rows["seed"].isin(values.index)] for rows in rows_by_key.values()])
        resampled = self._mean_resamples(complete)
        limits = complete[["low", "high"]].to_numpy(dtype=float)
        score_interval = None
        deviation = None
        if len(means) > 1:
            score_interval = seed_interval(means)
            deviation = stdev(means)
        elif resampled is not None:
            score_interval = interval(resampled)
        elif len(complete) == 1 and np.isfinite(limits).all():
            # Only of a single score: the interval of a mean does not follow from those of its parts.
            score_interval = Interval(*map(float, limits[0]))
        return replace(
            cell,
            value=fmean(means),
            deviation=deviation,
            interval=score_interval,
            resampled=resampled,
            data=tuple(sorted(complete["data"].unique())),
        )

    def _mean_resamples(self, rows: pd.DataFrame) -> Resampled | None:
        """Return the mean of the rows' resampled scores; None if those of a row are not in the cache."""
        values = []
        for items, subset, metric in zip(rows["items"], rows["subset"], rows["metric"], strict=True):
            if not (self.cache and items):
                return None
            resamples = cached_resamples(self.cache / items)
            if (subset, metric) not in resamples:
                return None
            values.append(resamples[subset, metric])
        return np.mean(values, axis=0)

    @cached_property
    def _rows_by_key(self) -> dict[tuple[str, str, str], pd.DataFrame]:
        return dict(iter(self.rows.groupby(["task", "subset", "metric"], sort=False)))

    def is_like(self, published: PaperModel) -> bool:
        """Whether a published model is the same checkpoint, or the same method from the same encoder."""
        method = self.method
        if self.setting == BASELINES:
            if base_name(self.model) in map(base_name, published.checkpoints):
                return True
            # A baseline's method is its name, and none of ours.
            method = UNTRAINED
        return (
            method in (published.method, *published.variants)
            and (not published.pooling or not self.pooling or published.pooling == self.pooling)
            and base_name(self.base) in map(base_name, (published.base, *published.bases))
        )


@lru_cache(maxsize=64)
def cached_resamples(file: Path) -> dict[tuple[str, str], Resampled]:
    """Return the resampled scores of a task by subset and metric; empty if the file has been deleted."""
    if not file.is_file():
        return {}
    return read_resampled(file)


def gather_models(rows: Iterable[dict[str, object]], cache: Path | None = None) -> list[OwnModel]:
    """Group rows of scores, with some of `SCORE_COLUMNS`, by model, in order.

    `cache`: Folder of the files of items; without it, encoders are not compared on the same items.
    """
    scores = pd.DataFrame(list(rows)).reindex(columns=list(SCORE_COLUMNS))
    texts = [*_MODEL, "note", "data", "code", "items"]
    scores[texts] = scores[texts].astype(object).fillna("").astype(str)
    scores["seed"] = [_seed_text(seed) for seed in scores["seed"]]
    unique = scores.drop_duplicates([*_MODEL, "seed", "task", "subset", "metric"], keep="last")
    models = []
    for key, group in unique.groupby(_MODEL, sort=False):
        identity = dict(zip(_MODEL, key, strict=True))
        pretrained = identity["method"] == UNTRAINED and not identity["base"].startswith(RANDOM)
        seeds: tuple[str, ...] = ()
        # Weights depend on a seed, which may be unknown, if they were trained or drawn here.
        if identity["setting"] != BASELINES and not pretrained:
            seeds = tuple(group["seed"].unique())
        models.append(OwnModel(**identity, seeds=seeds, rows=group, cache=cache))
    return models


def _seed_text(seed: float) -> str:
    # Seeds are floating-point numbers where one is missing.
    if pd.isna(seed):
        return ""
    return str(int(seed))


RUN_PAGES = "http://127.0.0.1:5000/#/runs/"
"""Address of the page of each run, by its id, while `make mlflow` serves the runs"""
SHOWN_DIGITS = 8
"""Digits of a run's id that are shown"""


@dataclass(frozen=True)
class Link:
    """A text with its address, which Markdown and HTML show as a link."""

    text: str
    address: str

    def __str__(self) -> str:
        return f"[{self.text}]({self.address})"

    def __html__(self) -> str:
        return f'<a href="{escape(self.address)}">{escape(self.text)}</a>'


def training_facts(rows: Sequence[Mapping[str, object]], run_pages: str = RUN_PAGES) -> dict[str, str | Link]:
    """Return steps, seconds and MLflow run of an encoder's training; empty texts where they are not recorded.

    Args:
        rows: Rows of scores of the encoder; the last one that has a value counts.
        run_pages: Address of MLflow's pages of runs, without a run's id.
    """
    # In a table, a value that is not recorded is NaN, which differs from itself.
    recorded = {name: value for row in rows for name, value in row.items() if value is not None and value == value}
    parameters = recorded.get("parameters")
    steps: object = ""
    if isinstance(parameters, Mapping):
        steps = parameters.get("steps", "")
    seconds = recorded.get("seconds", "")
    if isinstance(seconds, float | int):
        seconds = f"{seconds:,.0f}"
    run: str | Link = ""
    if run_id := str(recorded.get("run_id", "")):
        run = Link(run_id[:SHOWN_DIGITS], run_pages + run_id)
    return {"Steps": str(steps), "Seconds": str(seconds), "MLflow run": run}


def differing_parameters(models: Mapping[str, Mapping[str, object]]) -> pd.DataFrame:
    """Return the training parameters in which models differ: a row for each, and a column of texts for each model.

    Without parameters, a model has `NOT_RECORDED` in every row. No differences give no rows.
    """
    recorded = {name: values for name, values in models.items() if values}
    names = sorted({key for values in recorded.values() for key in values})
    rows = []
    for key in names:
        texts = {name: _parameter_text(values.get(key)) for name, values in recorded.items()}
        if len(set(texts.values())) > 1:
            rows.append({"Parameter": key, **{name: texts.get(name, NOT_RECORDED) for name in models}})
    return pd.DataFrame(rows, columns=["Parameter", *models])


def _parameter_text(value: object) -> str:
    if value is None:
        return ""
    return str(value)


NOT_RECORDED = "not recorded"
COMMIT_DIGITS = 12
"""Digits of a commit that are shown"""


def encoding_text(rows: pd.DataFrame) -> str:
    """Return pooling, normalisation, dimension, precision, length, commit and prompts; empty if they are not recorded.

    `rows`: Rows of scores of one encoder, with the columns `ENCODING` and `task`.
    """
    recorded = rows.dropna(subset=["embedding_dimension"])
    if recorded.empty:
        return ""
    row = {name: value for name, value in recorded.iloc[-1].items() if pd.notna(value) and value != ""}
    parts = []
    if "used_pooling" in row:
        parts.append(f"{row['used_pooling']} pooling")
    if row.get("normalized"):
        parts.append("normalized")
    parts.append(f"{int(row['embedding_dimension'])} dimensions")
    if "precision" in row:
        parts.append(str(row["precision"]))
    if "max_length" in row:
        parts.append(f"at most {int(row['max_length'])} tokens")
    if "revision" in row:
        parts.append(f"commit {str(row['revision'])[:COMMIT_DIGITS]}")
    # Tasks may be encoded with different prompts, but all else is the encoder's.
    prompts = [f"prompt “{prompt}”" for prompt in recorded["prompt"].dropna().unique() if prompt]
    return "; ".join([", ".join(parts), *prompts])
