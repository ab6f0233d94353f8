"""All pipelines of the project: those of the folder `pipelines`, and sums of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pkgutil import iter_modules

from kedro.framework import project as framework
from kedro.framework.project import find_pipelines, pipelines
from kedro.pipeline import Pipeline, pipeline

import ease.pipelines
from ease.methods import UNTRAINED
from ease.pipelines.acquire import create_pipeline as acquire
from ease.pipelines.acquire_evaluation import create_pipeline as acquire_evaluation
from ease.pipelines.acquire_evaluation.pipeline import create_set_location
from ease.pipelines.analysis import create_pipeline as analysis
from ease.pipelines.audit import create_pipeline as audit
from ease.pipelines.contamination import create_pipeline as contamination
from ease.pipelines.entity_embeddings import create_pipeline as entity_embeddings
from ease.pipelines.entity_embeddings.pipeline import create_embeddings
from ease.pipelines.entity_pairs import create_pipeline as entity_pairs
from ease.pipelines.evaluate import create_pipeline as evaluate
from ease.pipelines.evaluate.pipeline import create_scoring
from ease.pipelines.hard_negatives import create_pipeline as hard_negatives
from ease.pipelines.ingest import create_pipeline as ingest
from ease.pipelines.mewsc16 import create_pipeline as mewsc16
from ease.pipelines.mine_bitext import create_pipeline as mine_bitext
from ease.pipelines.publish import create_pipeline as publish
from ease.pipelines.released_pairs import create_pipeline as released_pairs
from ease.pipelines.report import create_pipeline as report
from ease.pipelines.report.pipeline import create_comparison
from ease.pipelines.setting import EASE_PLUS, LOW_RESOURCE, MLM, MONOLINGUAL, MULTILINGUAL, TEACH
from ease.pipelines.sweep import create_pipeline as sweep
from ease.pipelines.teach import create_pipeline as teach
from ease.pipelines.train import create_pipeline as train
from ease.pipelines.train.pipeline import create_training
from ease.pipelines.validate_evaluation import create_pipeline as validate_evaluation

COMPARED = ("simcse", "ease", EASE_PLUS)
"""The methods that `train_<setting>` trains; `train` trains all methods."""


def register_pipelines() -> dict[str, Pipeline]:
    """Return every pipeline that `kedro run --pipelines=NAME` knows.

    A piece by its own name belongs to the multilingual setting; `--pipelines=train_monolingual --tags=<piece>` runs
    the piece of the other setting. `train`, `evaluate` and `report` comprise all settings and methods, with whitening:
    select by `--namespaces`. The default is the main job; `stages` is the same for Kedro-Viz, a box for each stage.
    """
    # By default Kedro finds only the pipelines that a command names; sums, and checks of names, need all.
    pipelines.set_requested(None)
    library_pipelines = create_pipelines()
    project_pipelines = find_pipelines(pipelines_to_find=_project_pipeline_names(library_pipelines))
    main_job = library_pipelines["train_multilingual"]
    return {**project_pipelines, **library_pipelines, "stages": group_by_stage(main_job), "__default__": main_job}


def _project_pipeline_names(library_pipelines: Collection[str]) -> list[str] | None:
    """Return the names of pipelines that were added to the library's own folder; None, for all, in other projects.

    Creating the library's pipelines a second time would take a twentieth of each start.
    """
    if str(framework.PACKAGE_NAME) != ease.__name__:
        return None
    folders = [module.name for module in iter_modules(ease.pipelines.__path__) if module.ispkg]
    return [name for name in folders if name not in library_pipelines]


def create_pipelines() -> dict[str, Pipeline]:
    """Create the library's pipelines, by name."""
    return {
        "acquire": acquire(),
        "ingest": ingest(),
        "entity_pairs": entity_pairs(),
        "hard_negatives": hard_negatives(),
        "entity_embeddings": entity_embeddings(),
        "acquire_evaluation": acquire_evaluation(),
        "train": train(),
        "evaluate": acquire_evaluation() + evaluate(),
        "report": report(),
        "train_multilingual": create_main_job(MULTILINGUAL),
        "train_monolingual": create_main_job(MONOLINGUAL),
        # The only job of its setting: `sweep` has `low_resource_languages` by default.
        f"train_{LOW_RESOURCE}": create_data_stages(LOW_RESOURCE) + sweep(LOW_RESOURCE),
        "sweep": sweep(),
        "analysis": analysis(),
        # Pipelines of their own: many projects train the encoders of one setting alone.
        "analysis_monolingual": analysis(MONOLINGUAL, across_languages=False),
        "audit": acquire() + ingest() + audit(),
        "contamination": contamination(),
        "contamination_monolingual": contamination(MONOLINGUAL),
        "mewsc16": mewsc16(),
        "mine_bitext": mine_bitext(),
        "publish": publish(),
        "released_pairs": released_pairs(),
        "teach": create_teach(),
        "validate_evaluation": validate_evaluation(),
    }


def create_data_stages(setting: str) -> Pipeline:
    """Create the stages that make the inputs of a setting's training runs, in the order in which data flows."""
    return pipeline(
        [
            acquire(setting),
            ingest(setting),
            entity_pairs(setting),
            hard_negatives(setting),
            entity_embeddings(setting),
        ]
    )


def create_main_job(setting: str, methods: Sequence[str] = COMPARED) -> Pipeline:
    """Create `train_<setting>`: data, training runs, scores, and their comparison."""
    # If MLM is not trained, no stage would make its encoder.
    mlm_start = MLM in methods
    return pipeline(
        [
            create_data_stages(setting),
            create_set_location(setting),
            *(create_training(setting, method, mlm_start) for method in methods),
            *(create_scoring(setting, name) for name in (UNTRAINED, *methods)),
            create_comparison(setting, methods),
        ]
    )


def create_teach() -> Pipeline:
    """Create `teach`: the stages of a setting, with its own locations, starting encoder, training run and report."""
    return pipeline(
        [
            teach(),
            ingest(TEACH),
            audit(TEACH),
            entity_pairs(TEACH),
            hard_negatives(TEACH),
            create_embeddings(TEACH, project_options=False),
            create_scoring(TEACH, UNTRAINED),
            create_scoring(TEACH, EASE_PLUS),
        ]
    )


def group_by_stage(job: Pipeline) -> Pipeline:
    """Return a setting's job without the namespace of the setting, which would be one box of all nodes in Kedro-Viz."""
    # Kedro has no public way to replace a namespace: `pipeline(namespace=…)` adds to it.
    return pipeline([step._copy(namespace=str(step.namespace).partition(".")[2]) for step in job.nodes])
