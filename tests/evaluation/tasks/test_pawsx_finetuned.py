"""PAWS-X with a fine-tuned encoder: what it learns, its seeds, checks before a run, and encoders that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import BoW

from ease.encoders.encoder import build_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.errors import EaseError
from ease.evaluation.scores import DEVELOPMENT_METRIC, main_score
from ease.evaluation.tasks.pawsx_finetuned import fine_tune
from ease.evaluation.tasks.set_files import Labelled
from ease.similarity.encode import Encode
from tests.evaluation.made_tasks import make_task
from tests.evaluation.tasks.test_transfer import WORDS, write_pawsx

pytestmark = pytest.mark.slow


def pairs(seed: int, count: int) -> Labelled:
    """Pairs of words, of class 1 if they are w0 and w1; either sentence alone tells at most three of four."""
    others = np.random.default_rng(seed).choice(WORDS[2:], count)
    left = np.where(np.arange(count) % 4 == 1, others, "w0")
    right = np.where(np.arange(count) % 4 == 3, others, "w1")
    return Labelled([*zip(left.tolist(), right.tolist(), strict=True)], ["1", "0"] * (count // 2))


@pytest.fixture(scope="module")
def encoder() -> SentenceTransformer:
    sizes = RandomBertOptions(layers=1, hidden_size=64, heads=2, intermediate_size=64, vocabulary_size=300, dropout=0.0)
    return build_encoder(EncoderOptions(random=sizes, seed=1), [" ".join(WORDS)] * 20)


def finetuned(folder: Path, **changes: Any) -> Any:
    quick = {"seeds": (1, 2), "epochs": 1, "batch_size": 16, "learning_rate": 2e-3, "max_tokens": 32}
    return make_task("pawsx_finetuned", folder, evaluation_steps=20, **{**quick, **changes})


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([value.detach().flatten() for value in model.parameters()])


def test_a_copy_learns_what_needs_both_sentences(encoder: SentenceTransformer, tmp_path: Path) -> None:
    before, state = weights(encoder).clone(), torch.random.get_rng_state()
    given = finetuned(tmp_path, epochs=12).options
    tests = {DEVELOPMENT_METRIC: pairs(1, 40), "test": pairs(2, 60)}
    found = fine_tune(encoder, pairs(0, 160), tests, given, 42)
    assert found["test"].mean() > 0.95
    assert torch.equal(weights(encoder), before)
    assert torch.equal(torch.random.get_rng_state(), state), "the generator of others is left as it was"
    torch.rand(5)
    again = fine_tune(encoder, pairs(0, 160), tests, given, 42)
    assert np.array_equal(found["test"], again["test"]), "the seed decides"


def test_each_language_is_scored_by_each_seed(encoder: SentenceTransformer, tmp_path: Path) -> None:
    write_pawsx(tmp_path, ["en", "zh"])
    development, english, chinese, mean = finetuned(tmp_path).evaluate(encode_with(encoder))
    assert [(one.subset, one.metric) for one in (development, english, chinese)] == [
        *(("en", "development_accuracy"), ("en", "accuracy"), ("zh", "accuracy"))
    ]
    assert english.deviation is not None
    assert english.items is not None
    assert english.items.value() == pytest.approx(english.value)
    assert (mean.subset, mean.note) == ("average", "2 of 7 subsets")
    assert main_score([english, chinese, mean]) == pytest.approx(mean.value)


def test_other_encoders_are_refused(tmp_path: Path, encode: Encode) -> None:
    write_pawsx(tmp_path, ["en"])
    with pytest.raises(EaseError, match="pawsx_finetuned: this task trains the encoder"):
        finetuned(tmp_path).evaluate(encode)
    bag = SentenceTransformer(modules=[BoW(["a", "b"])], device="cpu")
    with pytest.raises(EaseError, match="begins with BoW: only a transformer can be fine-tuned"):
        fine_tune(bag, pairs(0, 4), {DEVELOPMENT_METRIC: pairs(1, 4)}, finetuned(tmp_path).options, 0)
