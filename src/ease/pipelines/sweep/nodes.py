"""Train and score the variants of a sweep."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.numpy import save_file

from ease.encoders.defaults import EncoderDefaults
from ease.encoders.options import RANDOM, EncodingOptions
from ease.entities.embeddings import Distribution, draw_like
from ease.entities.hashing import draw
from ease.entities.pairs import permute_entities
from ease.evaluation.scores import Score
from ease.evaluation.scoring import DEVELOPMENT, score_tasks, select_tasks
from ease.evaluation.sets import check_scorable, located_parameters, read_located, scorable
from ease.evaluation.tasks import TaskParameters
from ease.io.atomic import atomic_folder
from ease.io.files import hash_contents, report_write_errors
from ease.io.locks import folder_lock
from ease.lazy import DataFrame, Figure, Table, ibis, pd
from ease.methods import UNTRAINED
from ease.names import safe_name
from ease.options import Rows
from ease.pipelines.acquire_evaluation.nodes import locate
from ease.pipelines.options import AcquireOptions, EvaluationSetOptions, TextOptions
from ease.pipelines.recipe import CompleteRecipe, Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.sweep.variants import (
    PIVOT,
    START,
    SWEPT_SETTINGS,
    SweepChoice,
    SweepRun,
    Sweeps,
    Variant,
    open_sweep,
)
from ease.pipelines.tracked_scoring import Scoring, score_all, score_rows
from ease.pipelines.tracked_training import (
    TrainingData,
    drawn_sentences,
    gather_data,
    open_gathered,
    require_pairs,
    train_tracked,
    write_encoder,
)
from ease.pipelines.tracking import add_scores, log_plot, log_scores, log_table, nested_run
from ease.pipelines.work import lock_for_run, remove_after_run
from ease.reporting.markdown_tables import format_table
from ease.reporting.plots import plot_variants
from ease.reporting.score_summaries import language_scores, shown_scores, variant_table
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

TEST = "test"
"""Value of the column `split` for a score of a test task; else, `DEVELOPMENT`"""


SettingParameters = dict[str, Any]
"""All parameters of a setting: `setting` itself, the recipes by method, and others that sweeps do not read"""


class SweepInputs(NamedTuple):
    """The inputs of every training run of a sweep."""

    sentences: Table | None
    data: TrainingData
    acquire: AcquireOptions
    texts: TextOptions
    recipes: dict[str, Any]
    encoders: EncoderDefaults
    cache: Path | None
    """Folder of the embeddings of teachers and guides"""
    folder: Path

    def recipe(self, variant: Variant, seed: int, setting: Setting) -> CompleteRecipe:
        """Return the complete recipe of a variant."""
        recipe = variant.vary(self.recipes, seed).complete(setting.encoder.name, self.encoders)
        return recipe.with_cache(self.cache)


def locate_sweep_sets(
    sweep: SweepChoice,
    sweeps: Sweeps,
    multilingual: SettingParameters,
    monolingual: SettingParameters,
    low_resource: SettingParameters,
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: TaskParameters,
) -> dict[str, Any]:
    """Locate the evaluation sets that select the checkpoints of a sweep and score its variants."""
    run = open_sweep(sweep, sweeps, _by_name(multilingual, monolingual, low_resource))
    references = dict[str, None]()
    for setting in run.settings:
        references |= dict.fromkeys([*setting.dev_tasks, *setting.test_tasks])
    for joined in run.joined:
        references |= dict.fromkeys(joined.tasks)
    return locate(list(references), acquire, sets, tasks)


def _by_name(*settings: SettingParameters) -> dict[str, SettingParameters]:
    return dict(zip(SWEPT_SETTINGS, settings, strict=True))


def run_sweep(
    sweep: SweepChoice,
    sweeps: Sweeps,
    multilingual: SettingParameters,
    monolingual: SettingParameters,
    low_resource: SettingParameters,
    evaluation_data: dict[str, Any],
    tasks: dict[str, dict[str, Any]],
    work: str,
    acquire: AcquireOptions,
    texts: TextOptions,
    encoders: EncoderDefaults,
    encoding: EncodingOptions,
    sentences: Table | None,
    training_pairs: Table | None,
    dumps: dict[str, Any],
    entity_vocabulary: Table | None,
    entity_embeddings: Path | None,
) -> Rows:
    """Train and score the chosen variants from every seed; resume an interrupted sweep.

    Each training run has a nested MLflow run. The tables are those of the sweep's setting, and None if no run has made
    them: encoders with random weights read `sentences`, methods that read entities `training_pairs`,
    `entity_vocabulary` and `entity_embeddings`.

    Returns:
        A row for each score: sweep, variant, recipe, method, seed, development, seconds, split, the score's own
        columns, model, data, code.
    """
    run = open_sweep(sweep, sweeps, _by_name(multilingual, monolingual, low_resource))
    for setting in run.settings:
        check_scorable(setting.test_tasks, read_located(evaluation_data))
    folder = Path(work) / f"{run.setting.name}.{run.sweep.name}"
    data = TrainingData(
        Path(), training_pairs, evaluation_data, dumps, tasks, run.setting, entity_vocabulary, entity_embeddings
    )
    inputs = SweepInputs(sentences, data, acquire, texts, run.recipes, encoders, encoding.cache, folder)
    # Until Kedro has saved the rows, after this function, no other run may resume or remove the folder.
    lock_for_run(folder)
    models = dict[str, Path]()
    rows = Rows()
    training_runs = run.training_runs
    for number, (name, (variant, seed)) in enumerate(training_runs.items(), start=1):
        logger.info("%s, training run %d of %d: %s", run.sweep.name, number, len(training_runs), name)
        setting = run.sweep.varied_setting(run.setting, variant, seed)
        models[name], scores = _run_variant(variant, seed, setting, inputs)
        rows += scores
    if not run.only:
        rows += joined_rows(run, data, models)
        # A part of a sweep keeps its training runs, for the other parts and for the complete sweep.
        remove_after_run(folder)
    return [{"sweep": run.sweep.name, **row} for row in rows]


def _run_variant(variant: Variant, seed: int, setting: Setting, inputs: SweepInputs) -> tuple[Path, Rows]:
    """Train one variant from one seed, except for `start`, and score it; return the encoder and rows of scores."""
    name = variant.run_name(seed)
    encoder = start_encoder(seed, setting, inputs)
    data = inputs.data._replace(setting=setting, encoder=encoder)
    development = None
    seconds = 0.0
    if variant.method == START:
        with nested_run(name) as run_id:
            scores = _score(encoder, data)
            log_scores(run_id, [*scores[TEST], *scores[DEVELOPMENT]])
    else:
        recipe = inputs.recipe(variant, seed, setting)
        data = variant_data(variant, recipe, data, inputs)
        with folder_lock(inputs.folder / safe_name(name)) as lock:
            result = train_tracked(name, data, recipe, lock, None)
        encoder = result.model
        development = result.best_score
        seconds = result.seconds
        scores = _score(encoder, data)
        add_scores(encoder, [*scores[TEST], *scores[DEVELOPMENT]])
    columns: dict[str, Any] = {
        "variant": variant.label,
        "recipe": variant.title,
        "under": variant.under or "",
        "method": variant.method,
        "seed": seed,
        "languages": " ".join(setting.languages),
        # By recipe, base and pooling, the report finds the published model that is trained in the same way.
        "base": setting.encoder.name,
        "pooling": setting.encoder.pooling,
        "development": development,
        "seconds": seconds,
        "setting": setting.name,
        "model": name,
    }
    located = read_located(data.evaluation_data)
    rows = Rows()
    for split in (TEST, DEVELOPMENT):
        rows += score_rows(scores[split], located, **columns, split=split)
    return encoder, rows


def start_encoder(seed: int, setting: Setting, inputs: SweepInputs) -> Path:
    """Return the starting encoder of a setting; build it once for all variants with the same encoder options."""
    # A variant's languages restrict its own training only: `mlm` reads the pairs of all languages.
    setting = setting.model_copy(update={"languages": inputs.data.setting.languages})
    options = setting.encoder
    # A resumed sweep with other options, sentences or weights must not continue from the earlier start.
    key = hashlib.sha256(options.model_dump_json().encode())
    if options.name == RANDOM:  # its tokenizer is trained on the sentences
        for sentence in drawn_sentences(inputs.sentences, setting):
            key.update(f"{sentence}\n".encode())
    elif Path(options.name).exists():
        key.update(hash_contents(Path(options.name)).encode())
    folder = inputs.folder / f"start {key.hexdigest()[:16]}"
    untrained = folder / UNTRAINED
    if not untrained.exists():
        with atomic_folder(untrained) as partial:
            write_encoder(inputs.sentences, setting, partial)
    if setting.start != MLM:
        return untrained
    variant = Variant(method=MLM, seeds=(seed,))
    recipe = inputs.recipe(variant, seed, setting)
    data = variant_data(variant, recipe, inputs.data._replace(setting=setting, encoder=untrained), inputs)
    with folder_lock(folder / MLM) as lock:
        return train_tracked(f"{MLM} seed={seed}", data, recipe, lock, None).model


def variant_data(variant: Variant, recipe: CompleteRecipe, data: TrainingData, inputs: SweepInputs) -> TrainingData:
    """Return the training data of a variant: its texts, or its subset of the pairs and its entity table.

    Texts and pairs are drawn by the seed of the method's own recipe, so training runs from other seeds
    have the same ones.
    """
    unvaried = Recipe.model_validate(inputs.recipes[variant.method])
    data_seed = unvaried.seed(inputs.data.setting.encoder.name, inputs.encoders)
    if recipe.data is not None:
        folder = inputs.folder / "texts"
        file, _ = gather_data(recipe, data_seed, inputs.data.rows, inputs.acquire, inputs.texts, folder)
        return data._replace(rows=open_gathered(file, inputs.texts), vocabulary=None, entity_embeddings=None)
    pairs = require_pairs(inputs.data.rows, inputs.data.setting)
    if variant.permute_entities:
        pairs = permute_entities(pairs, inputs.data.vocabulary, recipe.training.seed)
    if data.setting.languages != inputs.data.setting.languages:
        pairs = pairs.filter(pairs.language.isin(data.setting.languages))
    if variant.rows is not None:
        pairs = draw_pairs_per_language(pairs, variant.rows, data_seed)
    table = inputs.data.entity_embeddings
    if variant.entity_table != "given" and table is not None:
        distribution: Distribution = "uniform"
        if variant.entity_table == "random":
            distribution = "normal"
        table = _random_table(table, recipe.training.seed, distribution, inputs.folder)
    return data._replace(rows=pairs, entity_embeddings=table)


def _random_table(table: Path, seed: int, distribution: Distribution, folder: Path) -> Path:
    """Write random entity embeddings with the shape of a table's; return the file."""
    file = folder / f"{distribution} seed={seed}.safetensors"
    with report_write_errors(file):
        save_file({"embeddings": draw_like(table, seed, distribution)}, file)
    return file


def draw_pairs_per_language(pairs: Table, rows: int, seed: int) -> Table:
    """Draw a number of pairs of each language; the draw depends only on the seed."""
    # Hashes, so that the draw depends on neither the engine nor the order of the rows.
    ticket = draw(seed, pairs.pair_id)
    turn = ibis.row_number().over(group_by=pairs.language, order_by=[ticket, pairs.pair_id])
    return pairs.mutate(turn=turn).filter(ibis._.turn < rows).drop("turn")


def _score(encoder: Path, data: TrainingData) -> dict[str, list[Score]]:
    """Score an encoder on the test tasks, and on the other development tasks, on which papers choose parameters."""
    located = read_located(data.evaluation_data)
    test_tasks = data.setting.test_tasks
    dev_tasks = [task for task in data.setting.dev_tasks if task not in test_tasks]
    scores = dict[str, list[Score]]()
    for split, references in ((TEST, test_tasks), (DEVELOPMENT, dev_tasks)):
        scores[split] = []
        if references:
            scores[split] = score_all(encoder, Scoring(references, located, data.tasks, EncodingOptions()))
    return scores


def joined_rows(run: SweepRun, data: TrainingData, models: Mapping[str, Path]) -> Rows:
    """Score the encoders that the sweep joins, one for each language; return a row for each score.

    Args:
        run: The complete sweep.
        data: The evaluation data and the tasks' options.
        models: The trained encoders by the names of their training runs.
    """
    from ease.encoders.encoding import encode_with
    from ease.similarity.encode import EncodeByLanguage

    located = read_located(data.evaluation_data)
    rows = Rows()
    for name, (title, seed) in run.sweep.joined_runs().items():
        joined = run.sweep.joined[title]
        encodes = {
            language: encode_with(models[f"{label} seed={seed}"], EncodingOptions(), language)
            for language, label in joined.encoders.items()
        }
        references = scorable(joined.tasks, located)
        with nested_run(name) as run_id:
            selected = select_tasks(references, located_parameters(data.tasks, located))
            scores = score_tasks(EncodeByLanguage(encodes), selected.values())
            log_scores(run_id, scores)
        columns: dict[str, Any] = {
            "variant": title,
            "recipe": title,
            "under": "",
            "method": "joined",
            "seed": seed,
            "languages": " ".join(joined.encoders),
            "base": joined.base,
            "pooling": "",
            "development": None,
            "seconds": 0.0,
            "setting": data.setting.name,
            "model": name,
        }
        rows += score_rows(scores, located, **columns, split=TEST)
    return rows


def report_sweep(
    sweep_scores: Rows,
    sweep: SweepChoice,
    sweeps: Sweeps,
    multilingual: SettingParameters,
    monolingual: SettingParameters,
    low_resource: SettingParameters,
) -> tuple[DataFrame, Figure, Figure]:
    """Return the scores of the sweep's training runs, one task as a plot, and their times as a plot; log them.

    The times are those of the training steps, without evaluations (Mirror-BERT, section 4.4).
    """
    run = open_sweep(sweep, sweeps, _by_name(multilingual, monolingual, low_resource))
    rows = pd.DataFrame(sweep_scores)
    # A column of nulls alone has no type.
    numeric = rows.columns.intersection(["development", "deviation", "low", "high"])
    rows = rows.astype(dict.fromkeys(numeric, float))
    tested = rows[rows["split"] != DEVELOPMENT]
    if run.sweep.each_language:
        # The average over all languages would hide how the language of each model gains.
        subsets = {language: _subsets(language) for language in run.setting.languages if language != PIVOT}
        scores = language_scores(tested, subsets)
    else:
        scores = shown_scores(tested, run.sweep.shown)
    task = str(scores["task"].iloc[0])
    title = run.sweep.name.replace("_", " ")
    table = scores[["variant", "method", "seed", "development", "value"]].rename(columns={"value": task})
    summary = variant_table(tested)
    logger.info("Variants, in points of 100:\n%s", format_table(table))
    logger.info("Mean and standard deviation over seeds, in points of 100:\n%s", format_table(summary))
    figure = plot_variants(scores, title=f"{task}: {title}")
    # A training run has a row for each of its scores, and a starting encoder has no time.
    trained = rows[rows["seconds"] > 0].drop_duplicates("model").drop(columns="value")
    trained = trained.rename(columns={"seconds": "value"})
    times = plot_variants(trained, f"Time of training: {title}", "training steps (seconds)")
    log_table(table, "variants")
    log_table(summary, "summary")
    log_plot(figure, "variants")
    log_plot(times, "training_times")
    return rows, figure, times


def _subsets(language: str) -> tuple[str, ...]:
    """Return the subsets of a language in tasks of pairs with English: `br-en`, and `bre-eng` in Tatoeba."""
    codes = sorted(Language(language).three_letter_codes)
    return f"{language}-{PIVOT}", *(f"{code}-eng" for code in codes)
