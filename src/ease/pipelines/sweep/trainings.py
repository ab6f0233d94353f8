"""The trainings of a sweep: what each is trained on, where it starts from, and its scores, also of several together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.numpy import save_file

from ease.encoders.options import RANDOM, EncodingOptions
from ease.entities.embeddings import draw_like
from ease.entities.hashing import draw
from ease.entities.pairs import permute_entities
from ease.evaluation.scoring import score_tasks
from ease.evaluation.sets import at_paths, read_located, scorable
from ease.evaluation.tasks import Score
from ease.io.atomic import atomic_folder
from ease.io.files import hash_contents, report_write_errors
from ease.io.lazy import ibis
from ease.io.locks import folder_lock
from ease.io.names import DEVELOPMENT, UNTRAINED, safe_name
from ease.pipelines.acquire.options import AcquireOptions
from ease.pipelines.evaluate.scoring import score_all, score_rows
from ease.pipelines.mlflow_runs import add_scores, log_scores, nested_run
from ease.pipelines.recipe import CompleteRecipe, EncoderDefaults, Recipe
from ease.pipelines.setting import MLM, Setting
from ease.pipelines.sweep.variants import START, Sweep, Variant
from ease.pipelines.training import (
    Rows,
    TextOptions,
    TrainingData,
    drawn_sentences,
    gather_data,
    open_gathered,
    required_pairs,
    train_tracked,
    write_encoder,
)

JOINED = "joined"
"""The method of the scores of several encoders together."""
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


def training_folder(folder: Path, name: str) -> Path:
    """Return the work folder of a training in that of its sweep."""
    return folder / safe_name(name)


def run_variant(variant: Variant, seed: int, setting: Setting, inputs: Inputs) -> tuple[Path, Rows]:
    """Train one variant from one seed and score it; the variant `start` is only scored.

    Returns:
        The folder of the scored encoder; a row for each score.
    """
    name, encoder = variant.run_name(seed), start_encoder(seed, setting, inputs)
    data = inputs.data._replace(setting=setting, encoder=encoder)
    development, seconds = None, 0.0
    if variant.method == START:
        with nested_run(name) as run_id:
            scores = _score(encoder, data)
            log_scores(run_id, [score for own in scores.values() for score in own])
    else:
        recipe = variant.varied(inputs.recipes, seed).complete(setting.encoder.name, inputs.encoders)
        data = variant_data(variant, recipe, data, inputs)
        with folder_lock(training_folder(inputs.folder, name)) as lock:
            result = train_tracked(name, data, recipe, lock)
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
    return encoder, [
        row for split, own in scores.items() for row in score_rows(own, located, **about, split=split)
    ]


def start_encoder(seed: int, setting: Setting, inputs: Inputs) -> Path:
    """Return the start encoder of a setting; build it once for all variants with the same encoder options.

    A variant's languages restrict its own training only: `mlm` reads the pairs of all languages.
    """
    setting = setting.model_copy(update={"languages": inputs.data.setting.languages})
    folder = inputs.folder / f"start {_encoder_key(inputs.sentences, setting)}"
    untrained = folder / UNTRAINED
    if not untrained.exists():
        with atomic_folder(untrained) as partial:
            write_encoder(inputs.sentences, setting, partial)
    if setting.start != MLM:
        return untrained
    variant = Variant(method=MLM, seeds=(seed,))
    recipe = variant.varied(inputs.recipes, seed).complete(setting.encoder.name, inputs.encoders)
    data = inputs.data._replace(setting=setting, encoder=untrained)
    given = variant_data(variant, recipe, data, inputs)
    with folder_lock(folder / MLM) as lock:
        return train_tracked(f"{MLM} seed={seed}", given, recipe, lock).model


def _encoder_key(sentences: ibis.Table | None, setting: Setting) -> str:
    """Hash a setting's encoder options, and the encoder's folder or the sentences for its tokenizer."""
    options = setting.encoder
    key = hashlib.sha256(options.model_dump_json().encode())
    if options.name == RANDOM:
        for sentence in drawn_sentences(sentences, setting):
            key.update(f"{sentence}\n".encode())
    elif Path(options.name).exists():
        key.update(hash_contents(Path(options.name)).encode())
    return key.hexdigest()[:16]


def variant_data(
    variant: Variant, recipe: CompleteRecipe, data: TrainingData, inputs: Inputs
) -> TrainingData:
    """Return the training data of a variant: its texts, or its subset of the pairs and its entity table.

    Texts and pairs are drawn by the seed of the method's own recipe, so trainings from other seeds have the same ones.
    """
    seed, data_seed = recipe.seed, Recipe.model_validate(inputs.recipes[variant.method]).seed
    if recipe.data is not None:
        folder = inputs.folder / "texts"
        file, _ = gather_data(recipe, data_seed, inputs.data.rows, inputs.acquire, inputs.texts, folder)
        rows = open_gathered(file, inputs.texts)
        return data._replace(rows=rows, vocabulary=None, entity_embeddings=None)
    pairs, table = required_pairs(inputs.data.rows, inputs.data.setting), inputs.data.entity_embeddings
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
        split: score_all(encoder, own, located, data.tasks, EncodingOptions()) if own else []
        for split, own in references.items()
    }


def joined_rows(sweep: Sweep, data: TrainingData, models: Mapping[str, Path]) -> Rows:
    """Score the encoders that the sweep joins, one for each language; return a row for each score."""
    from ease.encoders.encoding import encode_with
    from ease.evaluation.encodes import EncodeByLanguage

    located, options, rows = read_located(data.evaluation_data), EncodingOptions(), Rows()
    for name, (title, seed) in sweep.joined_trainings().items():
        joined = sweep.joined[title]
        encoders = {code: models[f"{label} seed={seed}"] for code, label in joined.encoders.items()}
        encode = EncodeByLanguage(
            {code: encode_with(folder, options, code) for code, folder in encoders.items()}
        )
        references = scorable(joined.tasks, located)
        with nested_run(name) as run_id:
            scores = score_tasks(encode, references, at_paths(data.tasks, located)) if references else []
            log_scores(run_id, scores)
        about: dict[str, Any] = {
            "variant": title,
            "recipe": title,
            "under": "",
            "method": JOINED,
            "seed": seed,
        }
        about |= {"languages": " ".join(encoders), "base": joined.base, "pooling": "", "development": None}
        about |= {"seconds": 0.0, "setting": data.setting.name, "model": name, "split": TEST}
        rows += score_rows(scores, located, **about)
    return rows
