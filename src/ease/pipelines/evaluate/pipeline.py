"""Score the encoders of a setting, and baselines."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.evaluation.scoring import BASELINES
from ease.methods import UNTRAINED
from ease.pipelines.evaluate.nodes import score_baselines, score_encoder
from ease.pipelines.setting import MONOLINGUAL, MULTILINGUAL, SETTINGS, trained_encoders


def create_pipeline() -> Pipeline:
    """Create the scoring of the encoders of all settings and of the baselines."""
    encoders = (UNTRAINED, *trained_encoders())
    scorings = [create_scoring(setting, name) for setting in SETTINGS for name in encoders]
    return pipeline([*scorings, create_baseline_scoring()])


def create_scoring(setting: str, method: str) -> Pipeline:
    """Create the scoring of one method's encoder, or of the `untrained` one."""
    scoring = node(
        score_encoder,
        inputs=[
            f"{setting}.{method}.encoder",
            f"{setting}.evaluation_data",
            "params:tasks",
            f"params:{setting}.setting",
            "params:evaluate",
            "params:encoding",
        ],
        outputs=f"{setting}.{method}.scores",
        name="score_encoder",
        namespace=f"{setting}.{method}",
    )
    return pipeline([scoring], tags="evaluate")


def create_baseline_scoring() -> Pipeline:
    """Create the scoring of the baselines on the tasks of all settings."""
    scoring = node(
        score_baselines,
        inputs=[
            f"{BASELINES}.evaluation_data",
            "params:tasks",
            "params:evaluate",
            "params:encoding",
            # A baseline with `language_rank` needs sentences of many languages.
            f"{MULTILINGUAL}.training_pairs",
            f"params:{MULTILINGUAL}.setting",
            f"params:{MONOLINGUAL}.setting",
        ],
        outputs=f"{BASELINES}.scores",
        name="score_baselines",
        namespace=BASELINES,
    )
    return pipeline([scoring], tags="evaluate")
