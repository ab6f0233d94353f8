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
from ease.entities.embeddings import draw_like
from ease.entities.hashing import draw
from ease.entities.pairs import permute_entities
from ease.evaluation.scores import Score
from ease.evaluation.scoring import DEVELOPMENT, score_tasks, select_tasks
from ease.evaluation.sets import check_scorable, located_parameters, read_located, scorable
from ease.evaluation.tasks import TaskParameters
from ease.io.atomic import atomic_folder
from ease.io.files import hash_contents, report_write_errors
from ease.io.locks import folder_lock
from ease.lazy import go, ibis, pd
from ease.methods import UNTRAINED
from ease.names import safe_name
from ease.options import Rows
from ease.pipelines.acquire_evaluation.nodes import locate
from ease.pipelines.options import AcquireOptions, EvaluationSetOptions, TextOptions
from ease.pipelines.recipe import CompleteRecipe, Recipe
from ease.pipelines.scoring import Scoring, score_all, score_rows
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.sweep.variants import PIVOT, START, Sweep, Variant
from ease.pipelines.tracking import add_scores, log_plot, log_scores, log_table, nested_run
from ease.pipelines.training import (
    TrainingData,
    drawn_sentences,
    gather_data,
    open_gathered,
    require_pairs,
    train_tracked,
    write_encoder,
)
from ease.pipelines.work import lock_for_run, remove_after_run
from ease.reporting.markdown_tables import format_table
from ease.reporting.plots import plot_variants
from ease.reporting.score_summaries import language_scores, shown_scores, variant_table
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

TEST = "test"
"""Value of the column `split` for a score of a test task; else, `DEVELOPMENT`"""


class Inputs(NamedTuple):
    """The inputs of every training of a sweep."""

    sentences: ibis.Table | None
    data: TrainingData
    acquire: AcquireOptions
    texts: TextOptions
    recipes: dict[str, Any]
    encoders: EncoderDefaults
    folder: Path

    def recipe(self, variant: Variant, seed: int, setting: Setting) -> CompleteRecipe:
        """Return the complete recipe of a variant."""
        return variant.varied(self.recipes, seed).complete(setting.encoder.name, self.encoders)


def locate_sweep_sets(
    acquire: AcquireOptions, sets: EvaluationSetOptions, tasks: TaskParameters, setting: Setting, sweep: Sweep
) -> dict[str, Any]:
    """Locate the evaluation sets that select the checkpoints of a sweep and score its variants."""
    varied = sweep.varied_settings(sweep.own_setting(setting))
    references = [task for one in varied for task in (*one.dev_tasks, *one.test_tasks)]
    references += [task for joined in sweep.joined.values() for task in joined.tasks]
    return locate(list(dict.fromkeys(references)), acquire, sets, tasks)


def run_sweep(
    sweep: Sweep,
    evaluation_data: dict[str, Any],
    setting: Setting,
    tasks: dict[str, dict[str, Any]],
    work: str,
    acquire: AcquireOptions,
    texts: TextOptions,
    encoders: EncoderDefaults,
    sentences: ibis.Table | None,
    training_pairs: ibis.Table | None,
    dumps: dict[str, Any],
    vocabulary: ibis.Table | None = None,
    entity_embeddings: Path | None = None,
    **recipes: Any,
) -> Rows:
    """Train and score every variant from every seed; resume an interrupted sweep.

    Each training has a nested MLflow run. Encoders with random weights read the `sentences`, and methods that read
    entities `vocabulary` and `entity_embeddings`. `recipes` are the setting's, by their methods' names.

    Returns:
        A row for each score: variant, recipe, method, seed, development, seconds, split, the score's own columns,
        model, data, code.
    """
    setting = sweep.own_setting(setting)
    for varied in sweep.varied_settings(setting):
        check_scorable(varied.test_tasks, read_located(evaluation_data))
    folder = Path(work) / f"{setting.name}.{sweep.name}"
    tables = (training_pairs, evaluation_data, dumps, tasks, setting, vocabulary, entity_embeddings)
    data = TrainingData(Path(), *tables)
    inputs = Inputs(sentences, data, acquire, texts, recipes, encoders, folder)
    trainings = sweep.trainings(setting.languages)
    lock_for_run(folder)
    models, rows = dict[str, Path](), Rows()
    for number, (name, (variant, seed)) in enumerate(trainings.items(), start=1):
        logger.info("%s, training %d of %d: %s", sweep.name, number, len(trainings), name)
        varied = sweep.varied_setting(setting, variant, seed)
        models[name], scored = _run_variant(variant, seed, varied, inputs)
        rows += scored
    remove_after_run(folder)
    return rows + joined_rows(sweep, data, models)


def _run_variant(variant: Variant, seed: int, setting: Setting, inputs: Inputs) -> tuple[Path, Rows]:
    """Train one variant from one seed, except for `start`, and score it; return the encoder and rows of scores."""
    name, encoder = variant.run_name(seed), start_encoder(seed, setting, inputs)
    data = inputs.data._replace(setting=setting, encoder=encoder)
    development, seconds = None, 0.0
    if variant.method == START:
        with nested_run(name) as run_id:
            scores = _score(encoder, data)
            log_scores(run_id, [score for own in scores.values() for score in own])
    else:
        recipe = inputs.recipe(variant, seed, setting)
        data = variant_data(variant, recipe, data, inputs)
        with folder_lock(inputs.folder / safe_name(name)) as lock:
            result = train_tracked(name, data, recipe, lock, None)
        encoder, development, seconds = result.model, result.best_score, result.seconds
        scores = _score(encoder, data)
        add_scores(encoder, [score for own in scores.values() for score in own])
    about: dict[str, Any] = {
        "variant": variant.label,
        "recipe": variant.title,
        "under": variant.under or "",
        "method": variant.method,
        "seed": seed,
        "languages": " ".join(setting.languages),
        "base": setting.encoder.name,
        "pooling": setting.encoder.pooling,
        "development": development,
        "seconds": seconds,
        "setting": setting.name,
        "model": name,
    }
    located = read_located(data.evaluation_data)
    rows = (score_rows(own, located, **about, split=split) for split, own in scores.items())
    return encoder, [row for own in rows for row in own]


def start_encoder(seed: int, setting: Setting, inputs: Inputs) -> Path:
    """Return the start encoder of a setting; build it once for all variants with the same encoder options."""
    # A variant's languages restrict its own training only: `mlm` reads the pairs of all languages.
    setting = setting.model_copy(update={"languages": inputs.data.setting.languages})
    options = setting.encoder
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
    data = inputs.data._replace(setting=setting, encoder=untrained)
    given = variant_data(variant, recipe, data, inputs)
    with folder_lock(folder / MLM) as lock:
        return train_tracked(f"{MLM} seed={seed}", given, recipe, lock, None).model


def variant_data(variant: Variant, recipe: CompleteRecipe, data: TrainingData, inputs: Inputs) -> TrainingData:
    """Return the training data of a variant: its texts, or its subset of the pairs and its entity table.

    Texts and pairs are drawn by the seed of the method's own recipe, so trainings from other seeds have the same ones.
    """
    seed = recipe.training.seed
    unvaried = Recipe.model_validate(inputs.recipes[variant.method])
    data_seed = unvaried.seed(inputs.data.setting.encoder.name, inputs.encoders)
    if recipe.data is not None:
        folder = inputs.folder / "texts"
        file, _ = gather_data(recipe, data_seed, inputs.data.rows, inputs.acquire, inputs.texts, folder)
        rows = open_gathered(file, inputs.texts)
        return data._replace(rows=rows, vocabulary=None, entity_embeddings=None)
    pairs, table = require_pairs(inputs.data.rows, inputs.data.setting), inputs.data.entity_embeddings
    if variant.permute_entities:
        pairs = permute_entities(pairs, inputs.data.vocabulary, seed)
    if data.setting.languages != inputs.data.setting.languages:
        pairs = pairs.filter(pairs.language.isin(data.setting.languages))
    if variant.rows is not None:
        pairs = drawn_pairs(pairs, variant.rows, data_seed)
    if variant.entity_table == "random" and table is not None:
        drawn = draw_like(table, seed)
        table = inputs.folder / f"random seed={seed}.safetensors"
        with report_write_errors(table):
            save_file({"embeddings": drawn}, table)
    return data._replace(rows=pairs, entity_embeddings=table)


def drawn_pairs(pairs: ibis.Table, rows: int, seed: int) -> ibis.Table:
    """Draw a number of pairs of each language; the draw depends only on the seed."""
    ticket = draw(seed, pairs.pair_id)
    turn = ibis.row_number().over(group_by=pairs.language, order_by=[ticket, pairs.pair_id])
    return pairs.mutate(turn=turn).filter(ibis._.turn < rows).drop("turn")


def _score(encoder: Path, data: TrainingData) -> dict[str, list[Score]]:
    """Score an encoder on the test tasks, and on the other development tasks, on which papers choose parameters."""
    located, test = read_located(data.evaluation_data), data.setting.test_tasks
    references = {TEST: test, DEVELOPMENT: [task for task in data.setting.dev_tasks if task not in test]}
    return {
        split: score_all(encoder, Scoring(own, located, data.tasks, EncodingOptions())) if own else []
        for split, own in references.items()
    }


def joined_rows(sweep: Sweep, data: TrainingData, models: Mapping[str, Path]) -> Rows:
    """Score the encoders that the sweep joins, one for each language; return a row for each score."""
    from ease.encoders.encoding import encode_with
    from ease.similarity.encode import EncodeByLanguage

    located, options, rows = read_located(data.evaluation_data), EncodingOptions(), Rows()
    for name, (title, seed) in sweep.joined_trainings().items():
        joined = sweep.joined[title]
        encoders = {code: models[f"{label} seed={seed}"] for code, label in joined.encoders.items()}
        own = {code: encode_with(folder, options, code) for code, folder in encoders.items()}
        encode, references = EncodeByLanguage(own), scorable(joined.tasks, located)
        with nested_run(name) as run_id:
            selected = select_tasks(references, located_parameters(data.tasks, located))
            scores = score_tasks(encode, selected.values())
            log_scores(run_id, scores)
        about: dict[str, Any] = {"variant": title, "recipe": title, "under": "", "method": "joined"}
        about |= {"seed": seed, "languages": " ".join(encoders), "base": joined.base, "pooling": ""}
        about |= {"development": None, "seconds": 0.0, "setting": data.setting.name, "model": name}
        rows += score_rows(scores, located, **about, split=TEST)
    return rows


def report_sweep(trainings: Rows, sweep: Sweep, setting: Setting) -> tuple[pd.DataFrame, go.Figure, go.Figure]:
    """Return the scores of the sweep's trainings, one task as a plot, and the trainings' times as a plot; log them.

    The times are those of the training steps, without evaluations (Mirror-BERT, section 4.4).
    """
    setting = sweep.own_setting(setting)
    rows = pd.DataFrame(trainings)
    # A column of nulls alone has no type.
    numbers = rows.columns.intersection(["development", "deviation", "low", "high"])
    rows = rows.astype(dict.fromkeys(numbers, float))
    tested = rows[rows["split"] != DEVELOPMENT]
    if sweep.each_language:
        languages = {code: _subsets(code) for code in setting.languages if code != PIVOT}
        shown = language_scores(tested, languages)
    else:
        shown = shown_scores(tested, sweep.shown)
    task, title = str(shown["task"].iloc[0]), sweep.name.replace("_", " ")
    plotted = shown[["variant", "method", "seed", "development", "value"]].rename(columns={"value": task})
    summary = variant_table(tested)
    logger.info("Variants, in points of 100:\n%s", format_table(plotted))
    logger.info("Mean and standard deviation over seeds, in points of 100:\n%s", format_table(summary))
    figure = plot_variants(shown, title=f"{task}: {title}")
    trained = rows[rows["seconds"] > 0].drop_duplicates("model").drop(columns="value")
    trained = trained.rename(columns={"seconds": "value"})
    times = plot_variants(trained, f"Time of training: {title}", "training steps (seconds)")
    log_table(plotted, "variants")
    log_table(summary, "summary")
    log_plot(figure, "variants")
    log_plot(times, "training_times")
    return rows, figure, times


def _subsets(language: str) -> tuple[str, ...]:
    """Return the subsets of a language in tasks of pairs with English: `br-en`, and `bre-eng` in Tatoeba."""
    codes = sorted(Language(language).three_letter_codes)
    return f"{language}-{PIVOT}", *(f"{code}-eng" for code in codes)
