"""Wiring of `report`."""

from collections.abc import Mapping, Sequence

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import BASELINES, UNTRAINED
from ease.pipelines.report.nodes import (
    compare_curves,
    compare_scores,
    export_scores,
    gather_scores,
    gather_sweeps,
    write_comparison,
    write_report,
)
from ease.pipelines.train.nodes import WHITENING


def create_pipeline(setting: str, methods: Sequence[str]) -> Pipeline:
    """Create what compares the methods of one setting and the encoder that they start from."""
    compared = (UNTRAINED, *methods)
    trained = [method for method in methods if method != WHITENING]
    scores = {method: f"{method}_scores" for method in compared}
    histories = {method: f"{method}_history" for method in trained}
    shown = ["comparison", "comparison_plot", "curves_plot", "params:work", "params:setting"]
    return pipeline(
        [
            node(compare_scores, scores, ["comparison", "comparison_plot"], name="compare_scores"),
            node(compare_curves, histories, "curves_plot", name="compare_curves"),
            node(write_comparison, shown, "comparison_page", name="write_comparison"),
        ],
        namespace=setting,
        inputs={f"{method}_scores": f"{setting}.{method}.scores" for method in compared}
        | {f"{method}_history": f"{setting}.{method}.history" for method in trained},
        parameters={"work"},
        tags="report",
    )


def create_gathering_pipeline(setting: str, methods: Sequence[str], sweeps: Sequence[str]) -> Pipeline:
    """Create what gathers the scores of one setting for the report beside the papers' tables."""
    compared = (UNTRAINED, *methods)
    scores = {method: f"{method}_scores" for method in compared}
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    swept = {"setting": "params:setting", **{name: f"{name}_sweep" for name in sweeps}}
    given = {"setting": "params:setting", "sweep_scores": "sweep_scores", **scores}
    return pipeline(
        [
            node(gather_sweeps, swept, "sweep_scores", name="gather_sweeps"),
            node(gather_scores, given, "report_scores", name="gather_scores"),
        ],
        namespace=setting,
        inputs={f"{method}_scores": f"{setting}.{method}.scores" for method in compared}
        | {f"{name}_sweep": f"{setting}.{name}_sweep" for name in sweeps},
        tags="report",
    )


def create_report_pipeline(
    methods: Mapping[str, Sequence[str]], sweeps: Mapping[str, Sequence[str]]
) -> Pipeline:
    """Create the report over all settings, sweeps and the baselines, beside the papers' tables."""
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    given = {"published": "params:published", "options": "params:report"}
    given |= {name: f"params:{name}" for name in ("work", "encoding")}
    scores = {"baselines": f"{BASELINES}.scores", **{name: f"{name}.report_scores" for name in methods}}
    made = ["report", "report_bars", "report_scatter"]
    reported = [
        node(write_report, given | scores, made, name="write_report", tags="report"),
        node(
            export_scores,
            {"work": "params:work", **scores},
            "exported_scores",
            name="export_scores",
            tags="report",
        ),
    ]
    gathered = (create_gathering_pipeline(setting, own, sweeps[setting]) for setting, own in methods.items())
    return sum(gathered, Pipeline(reported))
