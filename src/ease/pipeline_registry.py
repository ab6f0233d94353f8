"""All pipelines of the project: stages of a setting, and sums of stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from ease.methods import UNTRAINED, method_names
from ease.pipelines.acquire.pipeline import create_pipeline as acquire
from ease.pipelines.acquire_evaluation.pipeline import create_baselines_pipeline as acquire_baselines
from ease.pipelines.acquire_evaluation.pipeline import create_pipeline as acquire_evaluation
from ease.pipelines.analysis.pipeline import create_pipeline as analysis
from ease.pipelines.audit.pipeline import create_pipeline as audit
from ease.pipelines.contamination.pipeline import create_pipeline as contamination
from ease.pipelines.entity_embeddings.pipeline import create_pipeline as entity_embeddings
from ease.pipelines.entity_pairs.pipeline import create_pipeline as entity_pairs
from ease.pipelines.evaluate.pipeline import create_baselines_pipeline as evaluate_baselines
from ease.pipelines.evaluate.pipeline import create_pipeline as evaluate
from ease.pipelines.hard_negatives.pipeline import create_pipeline as hard_negatives
from ease.pipelines.ingest.pipeline import create_pipeline as ingest
from ease.pipelines.mewsc16.pipeline import create_pipeline as mewsc16
from ease.pipelines.mine_bitext.pipeline import create_pipeline as mine_bitext
from ease.pipelines.publish.pipeline import create_pipeline as publish
from ease.pipelines.report.pipeline import create_pipeline as compare
from ease.pipelines.report.pipeline import create_report_pipeline as report
from ease.pipelines.setting import EASE_PLUS, MLM, TEACH
from ease.pipelines.sweep.pipeline import create_pipeline as sweep
from ease.pipelines.sweep.variants import registered_sweeps
from ease.pipelines.teach.pipeline import create_pipeline as teach
from ease.pipelines.train.nodes import WHITENING
from ease.pipelines.train.pipeline import create_encoder_pipeline as start_encoder
from ease.pipelines.train.pipeline import create_pipeline as train
from ease.pipelines.validate_evaluation.pipeline import create_pipeline as validate_evaluation

SETTINGS = ("multilingual", "monolingual")
COMPARED = ("simcse", "ease", EASE_PLUS)
"""The methods that `train_<setting>` trains; `train` trains all methods."""
LOW_RESOURCE = "low_resource"
"""The setting that adds languages to a multilingual encoder, one model for each."""
NAMESPACES = (*SETTINGS, LOW_RESOURCE, TEACH)
"""Namespaces with stages, each a namespace in it."""
LANGUAGES_SWEEP = "low_resource_languages"
SWEEPS = registered_sweeps()
"""Settings of the sweeps, by the sweeps' names; each is a pipeline of its own."""


def register_pipelines() -> dict[str, Pipeline]:
    """Return every pipeline that `kedro run --pipelines=NAME` knows.

    A piece by its own name belongs to the multilingual setting; `--pipelines=train_monolingual --tags=<piece>` runs
    the piece of the other setting. `train`, `evaluate` and `report` comprise all settings and methods, with whitening:
    select by `--namespaces`. The default is the main job; `stages` is the same for Kedro-Viz, a box for each stage.
    """
    made = {name: regroup(own, _stage) for name, own in _create_pipelines().items()}
    main = made["train_multilingual"]
    stages = regroup(main, lambda node: str(node.namespace).partition(".")[2])
    return {"__default__": main, **made, "stages": stages}


def regroup(made: Pipeline, namespace: Callable[[Node], str | None]) -> Pipeline:
    """Give each node another namespace, which is its box in Kedro-Viz; datasets and parameters keep their names."""
    return Pipeline([node._copy(namespace=namespace(node)) for node in made.nodes])


def _stage(node: Node) -> str | None:
    """Return a node's namespace; of nodes that belong to no method of a setting, with the tag of their stage."""
    return f"{node.namespace}.{min(node.tags)}" if node.namespace in NAMESPACES else node.namespace


def _create_pipelines() -> dict[str, Pipeline]:
    methods = (*method_names(), WHITENING)
    located = {setting: acquire_evaluation(setting) for setting in SETTINGS}
    scored = {setting: add(evaluate(setting, name) for name in (UNTRAINED, *methods)) for setting in SETTINGS}
    swept = {
        setting: [name for name, of in SWEEPS.items() if of.setting == setting] for setting in (*SETTINGS, LOW_RESOURCE)
    }
    data = {setting: add(create_stages(setting).values()) for setting in swept}
    sweeps = {}
    for name, of in SWEEPS.items():
        own = Pipeline([node._copy(namespace=name) for node in sweep(name, of).nodes])
        sweeps[name] = data[of.setting] + own if of.entities else own
    all_located = add(located.values()) + acquire_baselines(SETTINGS)
    return {
        **create_stages("multilingual"),
        "acquire_evaluation": all_located,
        "train": add(train(setting, method) for setting in SETTINGS for method in methods),
        "evaluate": all_located + add(scored.values()) + evaluate_baselines(SETTINGS),
        "report": add(compare(setting, methods) for setting in SETTINGS)
        + report({setting: methods if setting in SETTINGS else () for setting in swept}, swept),
        **{f"train_{setting}": create_main_job(setting) for setting in SETTINGS},
        f"train_{LOW_RESOURCE}": sweeps[LANGUAGES_SWEEP],
        **sweeps,
        "analysis": analysis("multilingual", methods),
        "analysis_monolingual": analysis("monolingual", methods, across_languages=False),
        "audit": acquire("multilingual") + ingest("multilingual") + audit("multilingual"),
        "contamination": contamination("multilingual", methods),
        "contamination_monolingual": contamination("monolingual", methods),
        "mewsc16": mewsc16(),
        "mine_bitext": mine_bitext("multilingual"),
        "publish": publish(),
        "teach": teach(),
        "validate_evaluation": validate_evaluation(),
    }


def create_stages(setting: str) -> dict[str, Pipeline]:
    """Create the stages that make the inputs of a setting's trainings, in the order in which data flows."""
    return {
        "acquire": acquire(setting),
        "ingest": ingest(setting),
        "entity_pairs": entity_pairs(setting),
        "hard_negatives": hard_negatives(setting),
        "entity_embeddings": start_encoder(setting) + entity_embeddings(setting),
    }


def create_main_job(setting: str, methods: Sequence[str] = COMPARED) -> Pipeline:
    """Create `train_<setting>`: data, trainings, scores, and their comparison."""
    # If MLM is not trained, no stage would make its encoder.
    trainings = add(train(setting, method, mlm_start=MLM in methods) for method in methods)
    scores = add(evaluate(setting, name) for name in (UNTRAINED, *methods))
    data = add(create_stages(setting).values()) + acquire_evaluation(setting)
    return data + trainings + scores + compare(setting, methods)


def add(parts: Iterable[Pipeline]) -> Pipeline:
    """Return the nodes of several pipelines together."""
    return sum(parts, Pipeline([]))
