"""Nodes of `plan`."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ease.encoders.options import RANDOM
from ease.entities.pairs import PairOptions
from ease.errors import EaseError
from ease.io.addresses import is_remote
from ease.io.atomic import write_text_atomically
from ease.io.registry import check_name
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.pipelines.encoder_defaults import EncoderDefaults
from ease.pipelines.ingest.nodes import CachedIngestOptions
from ease.pipelines.plan.costs import Cost, download_cost, pairs_cost, parsing_cost, training_cost
from ease.pipelines.plan.options import PlanOptions
from ease.pipelines.plan.page import render_costs, render_plan
from ease.pipelines.plan.rates import ParsingRate, measure_parsing, measure_training
from ease.pipelines.plan.sources import DumpSize, folder_size, measure_dumps
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import EASE_PLUS, MLM, Setting
from ease.pipelines.teach.nodes import with_page_props
from ease.pipelines.teach.options import TEACH, check_taught_sources
from ease.pipelines.teach.sizes import fit_recipe
from ease.pipelines.training_texts import TextOptions
from ease.pipelines.work import scratch_for_run

logger = logging.getLogger(__name__)


class TrainingRate(NamedTuple):
    """The speed and size of an encoder."""

    sentences_per_second: float | None
    """None: the encoder is not on this machine"""
    parameters: int


def plan_job(
    options: PlanOptions,
    acquire: AcquireOptions,
    ingest: CachedIngestOptions,
    texts: TextOptions,
    encoders: EncoderDefaults,
    work: str,
    language: str,
    companions: Any,
    **of_settings: Any,
) -> tuple[Path, dict[str, Any]]:
    """Say what a job would do and cost on this machine, and what of it is there already.

    Args:
        options: The job, and how long to measure.
        acquire: The sources of the dumps.
        ingest: How dumps are parsed.
        texts: The memory limit of DuckDB.
        encoders: Defaults of recipes.
        work: The work folder.
        language: Of `teach`.
        companions: Of `teach`.
        of_settings: `<setting>_<name>` for each setting: its `setting`, `pairs`, recipes, and existing data.

    Returns:
        The page, in Markdown; the same as JSON.

    Raises:
        EaseError: If there is no such job, a source lacks a language, or a language of `teach` is refused.
    """
    check_name(options.of, _jobs(of_settings), "job of `plan.of`")
    name = options.of.removeprefix("train_")
    own = _validated(name, of_settings)
    if own["pairs"].released:
        raise EaseError("`plan` measures dumps: set `pairs.released` to null.")
    setting: Setting = own["setting"]
    if name == TEACH:
        check_taught_sources(language, companions, acquire, setting.languages)
        acquire = with_page_props(acquire)
    dumps = measure_dumps(acquire, setting.languages)
    scratch = scratch_for_run(work, "plan")
    rate, measured_on = _measure_parsing(dumps, acquire, ingest, options, scratch)
    speed = _measure_training(setting, rate, own[EASE_PLUS], encoders, options)
    costs = _costs(name, own, dumps, rate, speed, ingest, texts.memory_limit, encoders)
    facts = {
        "Job": f"`kedro run --pipelines={options.of}`",
        "Languages": ", ".join(setting.languages),
        "Encoder": f"{setting.encoder.name}, {speed.parameters / 1e6:.1f} million parameters",
        "Rates measured on": f"{measured_on}, {rate.size / rate.seconds / 1e6:.2f} MB of compressed dump a second and "
        f"process; {_speed(speed)}",
        "Not in the hours": "downloads, evaluations, the sample wiki and Wikipedia2Vec",
    }
    there = _existing(own, dumps, ingest)
    table = render_costs(costs)
    logger.info("%s would do:\n%s\nThere already: %s", options.of, table, "; ".join(there) or "nothing")
    page = scratch / "plan.md"
    write_text_atomically(page, render_plan(options.of, facts, table, there))
    return page, {"job": options.of, "facts": facts, "costs": [cost.row() for cost in costs], "there": there}


def _jobs(of_settings: Mapping[str, Any]) -> list[str]:
    """Return the pipelines that can be planned: of each setting that the node reads, the complete job."""
    names = [key.removesuffix("_setting") for key in of_settings if key.endswith("_setting")]
    return [name if name == TEACH else f"train_{name}" for name in names]


def _validated(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given for a setting; Kedro validates only parameters with a type hint of their own."""
    own = {key.removeprefix(f"{name}_"): value for key, value in given.items() if key.startswith(f"{name}_")}
    recipes = {key: Recipe.model_validate(own[key]) for key in own if f"{key}_encoder" in own}
    setting, pairs = Setting.model_validate(own["setting"]), PairOptions.model_validate(own["pairs"])
    return own | recipes | {"setting": setting, "pairs": pairs}


def _speed(speed: TrainingRate) -> str:
    if speed.sentences_per_second is None:
        return "the encoder is not on this machine, so that its speed was not measured"
    return f"{speed.sentences_per_second:,.0f} sentences a second forward and backward"


def _measure_parsing(
    dumps: Sequence[DumpSize],
    acquire: AcquireOptions,
    ingest: CachedIngestOptions,
    options: PlanOptions,
    scratch: Path,
) -> tuple[ParsingRate, str]:
    """Measure the parser on the dumps that are here, else on the sample's."""
    here = [file for dump in dumps for file in dump.files]
    measured_on = "the dumps"
    if not here:
        sample = acquire.model_copy(update={"wikipedia": SAMPLE})
        here = [file for dump in measure_dumps(sample, ("en",)) for file in dump.files]
        measured_on = "the sample wiki, since no dump is here (real pages are longer)"
    return measure_parsing(here, ingest, options.seconds, scratch / "parts"), measured_on


def _measure_training(
    setting: Setting,
    rate: ParsingRate,
    recipe: Recipe,
    encoders: EncoderDefaults,
    options: PlanOptions,
) -> TrainingRate:
    """Measure the start encoder on parsed sentences, unless it would have to be downloaded."""
    from ease.encoders.check import cached_folder
    from ease.encoders.encoder import build_encoder
    from ease.io.device import best_device

    name = setting.encoder.name
    if not (name.startswith(RANDOM) or Path(name).exists() or cached_folder(name)):
        return TrainingRate(None, 0)
    if not rate.texts:
        raise EaseError("The measured part of the dumps has no sentence: raise `plan.seconds`.")
    encoder = build_encoder(setting.encoder, rate.texts).to(best_device())
    training = recipe.complete(name, encoders).training
    speed = measure_training(encoder, rate.texts, training, options.seconds)
    return TrainingRate(speed, sum(weight.numel() for weight in encoder.parameters()))


def _costs(
    name: str,
    own: Mapping[str, Any],
    dumps: Sequence[DumpSize],
    rate: ParsingRate,
    speed: TrainingRate,
    ingest: CachedIngestOptions,
    memory_limit: str,
    encoders: EncoderDefaults,
) -> list[Cost]:
    """Return the cost of each stage."""
    total = sum(dump.size for dump in dumps)
    links = rate.of(total, rate.links)
    limits: PairOptions = own["pairs"]
    most = limits.max_pairs_per_language or links
    pairs = sum(min(rate.of(dump.size, rate.links), most) for dump in dumps)
    if (kept := own["kept_pairs"]) is not None:
        pairs = int(kept.count().execute())
    costs = [
        download_cost(sum(dump.missing for dump in dumps)),
        parsing_cost(total, rate, ingest.workers or os.cpu_count() or 1),
        pairs_cost(links, memory_limit),
    ]
    encoder = own["setting"].encoder.name
    for method in _methods(own, encoder):
        recipe: Recipe = own[method]
        if name == TEACH and method != MLM:
            recipe = fit_recipe(recipe, max(1, pairs), encoder, encoders, own["setting"].languages[1:])
        complete = recipe.complete(encoder, encoders)
        costs.append(training_cost(method, complete, pairs, speed.sentences_per_second, speed.parameters))
    return costs


def _methods(own: Mapping[str, Any], encoder: str) -> list[str]:
    """Return the methods that the job trains; a pretrained start needs no `mlm`."""
    methods = [key for key, value in own.items() if isinstance(value, Recipe)]
    return [method for method in methods if method != MLM or encoder.startswith(RANDOM)]


def _existing(own: Mapping[str, Any], dumps: Sequence[DumpSize], ingest: CachedIngestOptions) -> list[str]:
    """Describe what of the job is there already."""
    there = []
    for dump in dumps:
        here = sum(file.path.stat().st_size for file in dump.files)
        if here:
            there.append(f"dump of {dump.language}: {here / 1e6:,.2f} of {dump.size / 1e6:,.2f} MB")
        parts = ingest.folder / dump.language
        if not is_remote(parts) and parts.is_dir():
            there.append(
                f"parsed parts of {dump.language}: {folder_size(parts) / 1e6:,.2f} MB, reused if unchanged"
            )
    if (kept := own["kept_pairs"]) is not None:
        found = kept.group_by("language").agg(pairs=kept.count()).order_by("language").to_pandas()
        listed = ", ".join(f"{row['language']} {row['pairs']:,}" for row in found.to_dict("records"))
        there.append(f"training pairs of the last run: {listed}")
    there += [
        f"trained encoder of {key.removesuffix('_encoder')}: {value}"
        for key, value in own.items()
        if key.endswith("_encoder") and value is not None
    ]
    return there
