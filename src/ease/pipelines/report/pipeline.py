"""Compare the scores of a setting's methods, and report those of all settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kedro.pipeline import Pipeline

from ease.evaluation.scoring import BASELINES
from ease.methods import UNTRAINED
from ease.pipelines.report.nodes import (
    PAPER_TABLES,
    compare_curves,
    compare_scores,
    export_scores,
    gather_scores,
    gather_sweeps,
    write_comparison,
    write_report,
)
from ease.pipelines.train.nodes import WHITENING
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str, methods: Sequence[str]) -> Pipeline:
    """Create what compares the methods of one setting and the encoder that they start from."""
    scores = {method: f"{setting}.{method}.scores" for method in (UNTRAINED, *methods)}
    histories = {method: f"{setting}.{method}.history" for method in methods if method != WHITENING}
    shown = {"scores": "comparison_plot", "curves": "curves_plot"}
    nodes = [
        step(compare_scores, ["comparison", "comparison_plot"], **scores),
        step(compare_curves, "curves_plot", **histories),
        step(write_comparison, "comparison_page", **shown),
    ]
    return namespaced(nodes, setting, "report")


def create_report_pipeline(methods: Mapping[str, Iterable[str]], sweeps: Mapping[str, Iterable[str]]) -> Pipeline:
    """Create the report over all settings, by their methods and sweeps, and the baselines."""
    made = ["report", "report_bars", "report_scatter"]
    scores = {"baselines": f"{BASELINES}.scores", **{name: f"{name}.report_scores" for name in methods}}
    reported = [
        step(write_report, made, tags="report", options="params:report", published=PAPER_TABLES, **scores),
        step(export_scores, "exported_scores", tags="report", **scores),
    ]
    gathered = Pipeline(reported)
    for setting, own in methods.items():
        of_methods = {method: f"{setting}.{method}.scores" for method in (UNTRAINED, *own)}
        of_sweeps = {name: f"{setting}.{name}_sweep" for name in sweeps[setting]}
        nodes = [step(gather_sweeps, "sweep_scores", **of_sweeps), step(gather_scores, "report_scores", **of_methods)]
        gathered += namespaced(nodes, setting, "report")
    return gathered
