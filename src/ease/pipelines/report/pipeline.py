"""Compare the scores of a setting's methods, and report those of all settings."""

from __future__ import annotations

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from ease.evaluation.scoring import BASELINES
from ease.methods import UNTRAINED
from ease.pipelines.report.nodes import (
    compare_curves,
    compare_scores,
    export_scores,
    gather_scores,
    gather_sweeps,
    write_comparison,
    write_report,
)
from ease.pipelines.setting import (
    LOW_RESOURCE,
    MONOLINGUAL,
    MULTILINGUAL,
    SETTINGS,
    WHITENING,
    trained_encoders,
)


def create_pipeline() -> Pipeline:
    """Create `report`: a comparison for each setting, and the report over all settings and the baselines."""
    encoders = trained_encoders()
    comparisons = [create_comparison(setting, encoders) for setting in SETTINGS]
    gatherings = [_score_gathering(setting, encoders) for setting in SETTINGS]
    # Only sweeps train in this setting.
    return pipeline([*comparisons, *gatherings, _score_gathering(LOW_RESOURCE), _report()])


def create_comparison(setting: str, methods: Sequence[str]) -> Pipeline:
    """Create what compares the methods of one setting and the encoder that they start from."""
    scores = {method: f"{setting}.{method}.scores" for method in (UNTRAINED, *methods)}
    # A whitening is fitted without gradient steps.
    histories = {method: f"{setting}.{method}.history" for method in methods if method != WHITENING}
    stage = pipeline(
        [
            node(
                compare_scores,
                inputs=scores,
                outputs=[f"{setting}.comparison", f"{setting}.comparison_plot"],
                name="compare_scores",
            ),
            node(
                compare_curves,
                inputs=histories,
                outputs=f"{setting}.curves_plot",
                name="compare_curves",
            ),
            node(
                write_comparison,
                inputs={
                    "comparison": f"{setting}.comparison",
                    "bars": f"{setting}.comparison_plot",
                    "curves": f"{setting}.curves_plot",
                    "work": "params:work",
                    "setting": f"params:{setting}.setting",
                    # Their parameters are compared.
                    **scores,
                },
                outputs=f"{setting}.comparison_page",
                name="write_comparison",
            ),
        ],
        namespace=f"{setting}.report",
        prefix_datasets_with_namespace=False,
        tags="report",
    )
    return stage


def _score_gathering(setting: str, methods: Sequence[str] = ()) -> Pipeline:
    """Create the rows of a setting in the report: of its methods and of its sweeps."""
    scores = {method: f"{setting}.{method}.scores" for method in (UNTRAINED, *methods)}
    return pipeline(
        [
            node(
                gather_sweeps,
                inputs=[f"params:{setting}.setting", f"{setting}.sweep_tables"],
                outputs=f"{setting}.sweep_scores",
                name="gather_sweeps",
            ),
            node(
                gather_scores,
                inputs={
                    "setting": f"params:{setting}.setting",
                    "sweep_scores": f"{setting}.sweep_scores",
                    **scores,
                },
                outputs=f"{setting}.report_scores",
                name="gather_scores",
            ),
        ],
        namespace=f"{setting}.report",
        prefix_datasets_with_namespace=False,
        tags="report",
    )


def _report() -> Pipeline:
    return pipeline(
        [
            node(
                write_report,
                inputs=[
                    # Printed beside the scores of this project.
                    "papers.tables",
                    "params:report",
                    "params:work",
                    # Its cache has the scores' items, from which differences are tested.
                    "params:encoding",
                    f"{BASELINES}.scores",
                    f"{MULTILINGUAL}.report_scores",
                    f"{MONOLINGUAL}.report_scores",
                    f"{LOW_RESOURCE}.report_scores",
                ],
                outputs=["report", "report_bars", "report_scatter"],
                name="write_report",
            ),
            node(
                export_scores,
                inputs=[
                    "params:work",
                    f"{BASELINES}.scores",
                    f"{MULTILINGUAL}.report_scores",
                    f"{MONOLINGUAL}.report_scores",
                    f"{LOW_RESOURCE}.report_scores",
                ],
                outputs="exported_scores",
                name="export_scores",
            ),
        ],
        tags="report",
    )
