"""Scores in the form of evaluations and sweeps, and the published figures."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from ease.reporting.own import OwnModel, gather_models
from ease.reporting.published import Paper, PublishedPapers
from ease.reporting.report import ReportOptions
from tests.project import ROOT

PARAMETERS = ROOT / "conf" / "base" / "parameters"

MBERT = "google-bert/bert-base-multilingual-cased"
MODEL = "2026-01-02T03.04.05.678Z"
"""The version of the newest model."""

EASE_ROW = (79.5, 63.0, 78.4, 32.0, 60.0, 26.4, 54.0, 59.0, 59.5, 61.2)
"""Ten scores of STS 2017, in the order of the paper's Table 2."""


def parameters(path: str) -> Any:
    """Read a file of the project's parameters."""
    return yaml.safe_load((PARAMETERS / path).read_text(encoding="utf-8"))


@cache
def published() -> PublishedPapers:
    """Return the project's published figures, with the papers in another order than the report's."""
    files = sorted((ROOT / "conf" / "base" / "published").iterdir(), reverse=True)
    return PublishedPapers.model_validate(
        {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}
    )


def paper() -> Paper:
    """The paper of EASE."""
    return published().root["ease"]


def options() -> ReportOptions:
    """Return the project's options of the report."""
    return ReportOptions.model_validate(parameters("report.yml")["report"])


def row(task: str, subset: str, value: float, metric: str = "spearman", **changes: Any) -> dict[str, Any]:
    """One score of the newest multilingual EASE, unless said otherwise."""
    model = {"setting": "multilingual", "method": "ease", "base": MBERT, "pooling": "mean", "model": MODEL}
    origin = {"sweep": "", "data": f"{task}0123456789abcdef", "code": "0.1.0+abcdef"}
    return {**model, **origin, "task": task, "subset": subset, "metric": metric, "value": value, **changes}


def sts17(values: tuple[float, ...] = EASE_ROW, **changes: Any) -> list[dict[str, Any]]:
    """Return a model's scores on the first pairs of Table 2, one for each value."""
    pairs = [str(column.subset) for column in paper().tables["2"].columns if column.task]
    return [row("sts17", pair, value, **changes) for pair, value in zip(pairs, values, strict=False)]


def baseline(task: str, subset: str, value: float, metric: str = "spearman", **changes: Any) -> dict[str, Any]:
    """One score of an encoder that is not trained here."""
    name = "sentence-transformers/all-MiniLM-L6-v2"
    changes = {"setting": "baselines", "method": "MiniLM", "base": name, "model": name, "pooling": "", **changes}
    return row(task, subset, value, metric, **changes)


def all_rows() -> list[dict[str, Any]]:
    """Return two models of the multilingual setting, a sweep over three seeds, and a baseline with missing scores."""
    simcse = {"method": "simcse", "model": "2026-01-02T01.00.00.000Z"}
    rows = [*sts17(tuple(value - 6 for value in EASE_ROW), **simcse), *sts17()]
    for seed, shift in enumerate((-0.4, 0.2, 0.5), start=1):
        values = tuple(value + shift for value in EASE_ROW)
        rows += sts17(values, sweep="seeds", seed=seed, model="sweep seeds", data=None, code=None)
    for subset, value, deviation in (("ar", 30.25, 0.5), ("ca", 31.0, 0.25), ("average", 30.6, None)):
        note = "2 of 16 subsets" if subset == "average" else ""
        rows.append(row("mewsc16", subset, value, "accuracy", deviation=deviation, note=note))
        limits = {"low": value - 6.15, "high": value - 3.85} if deviation else {}
        rows.append(row("mewsc16", subset, value - 5, "v_measure", deviation=deviation, note=note, **limits))
    rows.append(row("tatoeba", "average_others", 26.0, "retrieval_accuracy", note="90 of 95 subsets"))
    rows += [row("sample_parallel", f"{code}-en", 70.0, "retrieval_accuracy") for code in ("de", "ja", "tr")]
    rows.append(row("sample_parallel", "average", 70.0, "retrieval_accuracy"))
    english = {"2012": 72.37, "2013": 80.6, "2014": 75.59}
    rows += [baseline("sts", year, value) for year, value in english.items()]
    rows += [baseline("sts", "2012", 70.0, "spearman_part_mean"), baseline("sts17", "en-en", 87.59)]
    rows += [baseline("stc", name, value, "accuracy") for name, value in (("agnews", 84.1), ("tweet", 61.5))]
    return rows


def own(rows: list[dict[str, Any]] | None = None) -> list[OwnModel]:
    """The models of some rows."""
    return gather_models(all_rows() if rows is None else rows)
