"""Mirror-BERT: its loss, its views, its dropout, wrong input, and trainings."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.methods import get_method, method_options
from ease.methods.base import SENTENCE, TOTAL
from ease.methods.components.mirror_losses import MultiSimilarity, mirrored_loss, multi_similarity_loss
from ease.training.batches import make_batch
from ease.training.job import run_job
from ease.training.model import TrainingModel
from ease.training.options import TrainingJob
from ease.training.prepared_pairs import open_pairs, prepare_pairs
from tests.methods.made import build, cosine, encoder, floats, inputs
from tests.training.tiny_training import losses, tiny_job

MASKED = "masked_sentence"


def job(files: Path, folder: Path, encoder: str = "encoder", **changes: Any) -> TrainingJob:
    """Six steps of Mirror-BERT, without an entity."""
    training = {"max_steps": 6, **changes.pop("training", {})}
    options = {"shortest_masked": 10, **changes.pop("method_options", {})}
    shared = {"method": "mirror_bert", "method_options": options, "vocabulary": None, "table": None}
    return tiny_job(files, folder, encoder, **{**shared, "training": training, **changes})


def double_loop(views: list[list[list[float]]], temperature: float, with_positive: bool) -> float:
    """Compute equation 1 with loops."""
    strings = [(pair, vector) for view in views for pair, vector in enumerate(view)]
    total = 0.0
    for place, (pair, vector) in enumerate(strings):
        numerator, denominator = 0.0, 0.0
        for other_place, (other_pair, other) in enumerate(strings):
            if other_place == place:
                continue
            term = math.exp(cosine(vector, other) / temperature)
            if other_pair == pair:
                numerator = term
            if other_pair != pair or with_positive:
                denominator += term
        total -= math.log(numerator / denominator)
    return total / len(strings)


def mined_loss(
    views: list[list[list[float]]], margin: float, alpha: float, beta: float, base: float
) -> float:
    """Compute the multi-similarity loss of hard triplets with loops over distances and cosines."""
    strings = [(pair, vector) for view in views for pair, vector in enumerate(view)]
    total = 0.0
    for place, (pair, vector) in enumerate(strings):
        length = math.hypot(*vector)
        others = [
            (
                other_pair == pair,
                cosine(vector, other),
                math.dist([x / length for x in vector], [x / math.hypot(*other) for x in other]),
            )
            for other_place, (other_pair, other) in enumerate(strings)
            if other_place != place
        ]
        ((near, reach),) = [(similarity, distance) for same, similarity, distance in others if same]
        hard = [
            similarity for same, similarity, distance in others if not same and distance <= reach + margin
        ]
        if hard:
            total += math.log(1 + math.exp(-alpha * (near - base))) / alpha
            total += math.log(1 + sum(math.exp(beta * (similarity - base)) for similarity in hard)) / beta
    return total / len(strings)


def finite_differences(function: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    """Compute the gradient by central differences."""
    gradient, step = np.zeros_like(at), 1e-5
    for place in np.ndindex(at.shape):
        apart = np.zeros_like(at)
        apart[place] = step
        gradient[place] = (function(at + apart) - function(at - apart)) / (2 * step)
    return gradient


@pytest.mark.parametrize("with_positive", [True, False])
@pytest.mark.parametrize("temperature", [0.2])
def test_the_loss_and_its_gradient_are_equation_1(temperature: float, with_positive: bool) -> None:
    at = np.random.default_rng(0).normal(size=(2, 4, 3))
    views = torch.tensor(at, requires_grad=True)
    loss = mirrored_loss(views, temperature, positive_in_denominator=with_positive)
    assert loss.item() == pytest.approx(double_loop(at.tolist(), temperature, with_positive), abs=1e-9)
    (gradient,) = torch.autograd.grad(loss, views)
    expected = finite_differences(lambda moved: double_loop(moved.tolist(), temperature, with_positive), at)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-6)


def test_shares_of_a_batch_average_to_the_loss_of_the_whole() -> None:
    views, options = floats(0, 2, 6, 5).double(), MultiSimilarity(margin=0.2)
    functions: list[Callable[..., Any]] = [
        partial(mirrored_loss, temperature=0.04),
        partial(mirrored_loss, temperature=0.04, positive_in_denominator=False),
        partial(multi_similarity_loss, options=options),
    ]
    for function in functions:
        shares = [function(views[:, own], candidates=views, own=own) for own in torch.arange(6).split(2)]
        assert torch.stack(shares).mean().item() == pytest.approx(function(views).item(), rel=1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.2, 5.0])
def test_the_multi_similarity_loss_is_that_of_loops_over_mined_triplets(margin: float) -> None:
    at = np.random.default_rng(3).normal(size=(2, 5, 3))
    at[1] = at[0] + 0.3 * at[1]  # positives are near, and some anchors have no hard negative
    values = {"margin": margin, "positive_scale": 2.0, "negative_scale": 10.0, "base": 0.4}
    options = MultiSimilarity.model_validate(values)
    views = torch.tensor(at, requires_grad=True)
    loss = multi_similarity_loss(views, options)
    expected = mined_loss(at.tolist(), margin, 2, 10, 0.4)
    assert loss.item() == pytest.approx(expected, abs=1e-9)
    (gradient,) = torch.autograd.grad(loss, views)
    by_loops = finite_differences(lambda moved: mined_loss(moved.tolist(), margin, 2, 10, 0.4), at)
    np.testing.assert_allclose(gradient, by_loops, rtol=0, atol=1e-6)
    parts = multi_similarity_loss(views, options, mini_batch_size=3)
    assert parts.item() == pytest.approx(expected, abs=1e-9)
    (in_parts,) = torch.autograd.grad(parts, views)
    np.testing.assert_allclose(in_parts, gradient, atol=1e-9)


def test_the_method_has_the_multi_similarity_loss_of_sapbert_s_parameters() -> None:
    views = floats(1, 2, 4, 6)
    found = build("mirror_bert", multi_similarity={})(inputs(views))[TOTAL].item()
    assert found == pytest.approx(mined_loss(views.tolist(), 0.2, 1, 60, 0.5), rel=1e-4)
    with pytest.raises(EaseError, match="multi_similarity.*negative_scal"):
        method_options("mirror_bert", {"multi_similarity": {"negative_scal": 1}})


def test_the_default_is_the_released_loss_at_the_temperature_of_sentences() -> None:
    views = floats(1, 2, 4, 6)
    found = build("mirror_bert")(inputs(views))[TOTAL].item()
    assert found == pytest.approx(double_loop(views.tolist(), 0.04, True), rel=1e-4)
    printed = build("mirror_bert", temperature=0.2, positive_in_denominator=False)(inputs(views))[
        TOTAL
    ].item()
    assert printed == pytest.approx(double_loop(views.tolist(), 0.2, False), rel=1e-4)


def test_equation_1_as_printed_refuses_a_string_without_negatives() -> None:
    views = floats(1, 2, 1, 6)
    assert build("mirror_bert")(inputs(views))[TOTAL].item() == pytest.approx(0)
    with pytest.raises(EaseError, match="needs negatives: raise `batch_size`"):
        build("mirror_bert", positive_in_denominator=False)(inputs(views))


@pytest.mark.parametrize(
    ("options", "views"),
    [
        ({}, (SENTENCE, MASKED)),
        ({"span": 0}, (SENTENCE, SENTENCE)),
        ({"span": 0, "controlled_dropout": True}, (SENTENCE,)),
        ({"span": 0, "augmentation": "words"}, (SENTENCE, MASKED)),
        ({"augmentation": "tokens"}, (SENTENCE, MASKED)),
        ({"augmentation": "order"}, (SENTENCE, MASKED)),
    ],
)
def test_the_views_are_the_string_and_its_duplicate(options: dict[str, Any], views: tuple[str, ...]) -> None:
    method = build("mirror_bert", **options)
    assert method.views == views
    assert set(method.derived_columns(encoder(), 0)) == set(views) - {SENTENCE}
    assert not list(method.parameters())


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(EaseError, match="`controlled_dropout` needs identical views.*set `span: 0`"):
        method_options("mirror_bert", {"controlled_dropout": True})
    with pytest.raises(EaseError, match="`augmentation` changes one of them.*`augmentation: span`"):
        method_options("mirror_bert", {"controlled_dropout": True, "span": 0, "augmentation": "order"})


def training_model(files: Path, **options: Any) -> TrainingModel:
    """A tiny encoder with Mirror-BERT, in training mode."""
    start = load_encoder(str(files / "encoder"))
    method = get_method("mirror_bert").build(method_options("mirror_bert", options), start, None)
    return TrainingModel(start, nn.Identity(), method).train()


def prepared(files: Path, model: TrainingModel, folder: Path, seed: int = 0) -> np.ndarray[Any, Any]:
    layout = model.layout(16)
    derived = model.method.derived_columns(model.encoder, seed)
    prepare_pairs(files / "pairs.parquet", None, model.encoder, layout, folder / "pairs.bin", derived)
    return np.array(open_pairs(folder / "pairs.bin", layout))


def test_controlled_dropout_is_two_encodings_under_the_same_masks(files: Path, tmp_path: Path) -> None:
    model = training_model(files, span=0, dropout=0.3, drophead=0.3, controlled_dropout=True)
    batch = make_batch(prepared(files, model, tmp_path)[::5], 0, 1, model.method.views, with_entities=False)
    parameters = [weights for weights in model.parameters() if weights.requires_grad]
    torch.manual_seed(3)
    loss = model(batch)[TOTAL]
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    encoded = []
    for _ in range(2):  # every string a second time, with the draws of the first
        torch.manual_seed(3)
        encoded.append(model.encode(batch).sentences[0])
    assert torch.equal(*encoded)
    expected = mirrored_loss(torch.stack(encoded), 0.04)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    twice = torch.autograd.grad(expected, parameters, allow_unused=True)
    for found, wanted in zip(gradients, twice, strict=True):
        assert (found is None) == (wanted is None)
        if found is not None:
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)
    apart = training_model(files, span=0, dropout=0.3)
    first, second = apart.encode(
        make_batch(prepared(files, apart, tmp_path)[::5], 0, 1, apart.method.views, with_entities=False)
    ).sentences
    assert not torch.allclose(first, second, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "share"),
    [
        ({"span": 0, "dropout": 0.0}, 0.0),
        ({"span": 0, "dropout": None}, 1.0),
        # Two layers of two heads, of which both views have the same ones now and then.
        ({"span": 0, "dropout": 0.0, "drophead": 0.2}, 1 - (0.2**2 + 0.8**2) ** 4),
        ({"span": 5, "dropout": 0.0}, 1.0),
    ],
)
def test_views_differ_by_their_augmentation(
    options: dict[str, Any], share: float, files: Path, tmp_path: Path
) -> None:
    model = training_model(files, shortest_masked=1, **options)
    rows = prepared(files, model, tmp_path)
    batch = make_batch(rows, 0, 1, model.method.views, with_entities=False)
    torch.manual_seed(0)
    first, second = model.encode(batch).sentences
    distances = (first - second).abs().amax(1)
    assert (distances > 1e-3).float().mean().item() == pytest.approx(share, abs=0 if share in (0, 1) else 0.1)
    if options["dropout"] is None:
        assert {part.p for part in model.encoder.modules() if isinstance(part, nn.Dropout)} == {0.1}


@pytest.mark.parametrize("augmentation", ["words", "tokens", "order"])
def test_the_second_view_of_texts_of_several_words_is_augmented(
    augmentation: str, files: Path, tmp_path: Path
) -> None:
    model = training_model(files, augmentation=augmentation, share=0.5, shortest_masked=1, dropout=0.0)
    rows = prepared(files, model, tmp_path)
    texts = pq.read_table(files / "pairs.parquet")["sentence"].to_pylist()
    differs = (rows[SENTENCE]["tokens"] != rows[MASKED]["tokens"]).any(1)
    several = np.array([len(text.split()) > 1 for text in texts])
    assert several.any()
    assert differs[several].all()
    if augmentation != "tokens":
        assert not differs[~several].any()
    masked = (rows[MASKED]["tokens"] == model.encoder.tokenizer.mask_token_id).any(1)
    assert masked[several].all() == (augmentation != "order")


def test_one_view_is_masked_and_the_other_is_not(files: Path, tmp_path: Path) -> None:
    model = training_model(files, shortest_masked=10)
    rows, mask = prepared(files, model, tmp_path), model.encoder.tokenizer.mask_token_id
    texts = pq.read_table(files / "pairs.parquet")["sentence"].to_pylist()
    assert not (rows[SENTENCE]["tokens"] == mask).any()
    masked = (rows[MASKED]["tokens"] == mask).sum(1)
    assert masked.max() == 1
    assert masked.sum() == sum(len(text) >= 10 for text in texts)
    again = prepared(files, training_model(files, shortest_masked=10), tmp_path)
    assert np.array_equal(rows, again), "a training that goes on reads the same spans"
    other = prepared(files, training_model(files, shortest_masked=10), tmp_path, seed=1)
    assert not np.array_equal(rows[MASKED], other[MASKED])


def test_an_encoder_without_a_mask_token_is_refused_where_spans_are_masked(files: Path) -> None:
    start = load_encoder(str(files / "encoder"))
    start.tokenizer.mask_token = None
    for refused in ({}, {"augmentation": "words"}):
        with pytest.raises(EaseError, match="has none: set `span: 0`"):
            get_method("mirror_bert").build(method_options("mirror_bert", refused), start, None)
    for options in ({"span": 0}, {"augmentation": "order"}):
        get_method("mirror_bert").build(method_options("mirror_bert", options), start, None)


def test_short_and_empty_strings_train_unmasked_and_are_counted(
    files: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = ["", "of", "seldom", "東", "Berlin", *(f"Berlin is city number {n}" for n in range(11))]
    pq.write_table(pa.table({"sentence": texts}), tmp_path / "pairs.parquet")
    short = job(files, tmp_path / "job", pairs=tmp_path / "pairs.parquet", development={})
    with caplog.at_level(logging.INFO, "ease.methods.components.augmentation"):
        result = run_job(short)
    assert "5 of 16 texts have fewer than 10 characters and are not changed" in caplog.text
    assert all(math.isfinite(loss) for loss in losses(result).values())


def test_a_training_learns(files: Path, tmp_path: Path) -> None:
    training = {"max_steps": 20, "learning_rate": 3e-3}
    history = losses(run_job(job(files, tmp_path / "job", training=training, development={})))
    assert sum(history[step] for step in range(18, 21)) < sum(history[step] for step in range(1, 4))
