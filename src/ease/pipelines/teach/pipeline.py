"""Teach an encoder a language from its Wikipedia."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.methods import UNTRAINED
from ease.pipelines.audit.pipeline import create_pipeline as audit
from ease.pipelines.entity_embeddings.pipeline import create_pipeline as entity_embeddings
from ease.pipelines.entity_pairs.pipeline import create_pipeline as entity_pairs
from ease.pipelines.evaluate.pipeline import create_pipeline as evaluate
from ease.pipelines.hard_negatives.pipeline import create_pipeline as hard_negatives
from ease.pipelines.ingest.pipeline import create_pipeline as ingest
from ease.pipelines.setting import MLM, TEACH
from ease.pipelines.teach.nodes import (
    METHOD,
    build_start,
    locate_taught_dumps,
    locate_taught_sets,
    report_teaching,
    teach_encoder,
)
from ease.pipelines.tracking import TRAINING_TAG
from ease.pipelines.train.nodes import (
    DATA,
    ENTITIES,
)
from ease.pipelines.wiring import namespaced, step


def create_pipeline() -> Pipeline:
    """Create `teach`: the pieces of a setting, with a start, a training and a report of its own."""
    sets, scores = "params:acquire_evaluation", {"before": UNTRAINED, "after": METHOD}
    reported = {name: f"{TEACH}.{method}.scores" for name, method in scores.items()}
    reported["history"] = f"{TEACH}.{METHOD}.history"
    steps = [
        step(locate_taught_dumps, "dumps", "locate_dumps", tags="acquire"),
        step(locate_taught_sets, "evaluation_data", "locate_evaluation_sets", "acquire_evaluation", sets=sets),
        step(report_teaching, ["teaching_page", "teaching_scores"], tags="report", **reported),
    ]
    # `untrained` is the name of the encoder to teach in the catalog, as in other settings.
    given = {"recipe": f"params:{TEACH}.{MLM}", "encoder": "params:encoder", **DATA}
    start = step(build_start, "encoder", tags=TRAINING_TAG, **given)
    given = {"rows": "training_pairs", **DATA, **ENTITIES}
    taught = step(teach_encoder, ["encoder", "history"], tags=TRAINING_TAG, **given)
    return (
        namespaced(steps, TEACH)
        + ingest(TEACH)
        + audit(TEACH)
        + entity_pairs(TEACH)
        + hard_negatives(TEACH)
        + namespaced([start], f"{TEACH}.{UNTRAINED}", "entity_embeddings")
        + entity_embeddings(TEACH, own="entity_embeddings")
        + namespaced([taught], f"{TEACH}.{METHOD}", "train")
        + evaluate(TEACH, UNTRAINED)
        + evaluate(TEACH, METHOD)
    )
