"""Wiring of `teach`: the pieces of a setting, with a start, a training and a report of its own."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import UNTRAINED
from ease.pipelines.audit import create_pipeline as audit
from ease.pipelines.entity_embeddings import create_pipeline as entity_embeddings
from ease.pipelines.entity_pairs import create_pipeline as entity_pairs
from ease.pipelines.evaluate.pipeline import create_pipeline as evaluate
from ease.pipelines.hard_negatives import create_pipeline as hard_negatives
from ease.pipelines.ingest.pipeline import create_pipeline as ingest
from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.setting import EASE_PLUS, MLM
from ease.pipelines.teach.nodes import (
    build_start,
    locate_taught_dumps,
    locate_taught_sets,
    report_teaching,
    teach_encoder,
)
from ease.pipelines.teach.options import TEACH
from ease.pipelines.train.pipeline import ENTITIES, LOCATED, TRAINED, place

METHOD = EASE_PLUS
SETS = ("acquire", "acquire_evaluation", "tasks", "evaluate")


def create_pipeline() -> Pipeline:
    """Create `teach`."""
    return (
        _create_own_steps()
        + ingest(TEACH)
        + audit(TEACH)
        + entity_pairs(TEACH)
        + hard_negatives(TEACH)
        + _create_start()
        + entity_embeddings(TEACH, own_options=True)
        + _create_training()
        + evaluate(TEACH, UNTRAINED)
        + evaluate(TEACH, METHOD)
    )


def _create_own_steps() -> Pipeline:
    """Create the sources, the evaluation sets, of which the audit is one, and the page of scores before and after."""
    dumps = [f"params:{name}" for name in ("acquire", "setting", "language", "companions")]
    sets = [*(f"params:{name}" for name in (*SETS, "setting")), "audit_set"]
    reported = [
        "dumps",
        "ingest_summary",
        "entity_vocabulary",
        "training_pairs",
        "before",
        "after",
        "history",
    ]
    reported += [f"params:{name}" for name in ("setting", "language", "accept", "work")]
    made = ["teaching_page", "teaching_scores"]
    located = node(locate_taught_sets, sets, "evaluation_data", name="locate_evaluation_sets")
    return pipeline(
        [
            node(locate_taught_dumps, dumps, "dumps", name="locate_dumps", tags="acquire"),
            located.tag("acquire_evaluation"),
            node(report_teaching, reported, made, name="report_teaching", tags="report"),
        ],
        namespace=TEACH,
        inputs={
            "before": f"{TEACH}.{UNTRAINED}.scores",
            "after": f"{TEACH}.{METHOD}.scores",
            "history": f"{TEACH}.{METHOD}.history",
        },
        parameters={*SETS, "work"},
    )


def _create_start() -> Pipeline:
    """Create the encoder to teach; `untrained` is its name in the catalog, as in other settings."""
    own = (
        "recipe",
        "setting",
        "encoders",
        "acquire",
        "texts",
        "work",
        "language",
        "encoder",
        "max_unknown_words",
    )
    given = {name: name for name in ("sentences", "training_pairs")}
    given |= {name: f"params:{name}" for name in own} | LOCATED
    made = node(build_start, given, "encoder", name="build_start", tags=TRAINING_TAG)
    tables = ["sentences", "training_pairs", "evaluation_data", "dumps"]
    return place([made], TEACH, UNTRAINED, tables, "entity_embeddings", recipe=MLM)


def _create_training() -> Pipeline:
    given = TRAINED | {"accept": "params:accept", "untrained": "untrained", "rows": "training_pairs"}
    given |= LOCATED | ENTITIES
    made = node(teach_encoder, given, ["encoder", "history"], name="teach_encoder", tags=TRAINING_TAG)
    tables = ["training_pairs", "evaluation_data", "dumps", *ENTITIES.values()]
    return place([made], TEACH, METHOD, tables, "train")
