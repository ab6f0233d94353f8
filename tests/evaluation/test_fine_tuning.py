"""Fine-tuned classifiers of pairs: what they learn, their seeds and starts, and refused encoders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import BoW

from ease.encoders.encoder import build_encoder, load_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.errors import EaseError
from ease.evaluation.fine_tuning import FineTuningSettings, LabelledPairs, fine_tune
from tests.rehearsal.made_hub import add_encoder

WORDS = [f"word{number}" for number in range(12)]
QUICK = FineTuningSettings(epochs=1, batch_size=8, learning_rate=1e-3, evaluation_steps=5, max_tokens=32)


def pairs(seed: int, count: int) -> LabelledPairs:
    """Pairs of words, of class 1 if they are word0 and word1; either sentence alone tells at most three of four."""
    generator = np.random.default_rng(seed)
    others = generator.choice(WORDS[2:], count)
    left = np.where(np.arange(count) % 4 == 1, others, "word0")
    right = np.where(np.arange(count) % 4 == 3, others, "word1")
    return LabelledPairs(left.tolist(), right.tolist(), ["1", "0"] * (count // 2))


@pytest.fixture(scope="module")
def encoder() -> SentenceTransformer:
    sizes = RandomBertOptions(
        layers=1, hidden_size=64, heads=2, intermediate_size=64, vocabulary_size=300, dropout=0.0
    )
    return build_encoder(EncoderOptions(random=sizes, seed=1), [" ".join(WORDS)] * 20)


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([value.detach().flatten() for value in model.parameters()])


def test_the_encoder_learns_what_needs_both_sentences_and_keeps_its_own_weights(
    encoder: SentenceTransformer,
) -> None:
    before, mode = weights(encoder).clone(), encoder.training
    settings = FineTuningSettings(
        epochs=10, batch_size=16, learning_rate=2e-3, evaluation_steps=20, max_tokens=32
    )
    classifier = fine_tune(encoder, pairs(0, 160), pairs(1, 40), settings, 42)
    assert classifier.accuracy(pairs(2, 60)) > 0.95
    assert torch.equal(weights(encoder), before)
    assert encoder.training is mode
    assert not torch.equal(weights(classifier.model.base_model)[:1000], before[:1000]), "the copy was trained"


def test_training_starts_from_the_encoder_s_weights(encoder: SentenceTransformer) -> None:
    tiny = FineTuningSettings(epochs=1, batch_size=8, learning_rate=1e-12, max_tokens=32)
    trained = fine_tune(encoder, pairs(0, 16), pairs(1, 8), tiny, 1).model.base_model.state_dict()
    transformer: Any = encoder[0]
    start = transformer.model.state_dict()
    assert trained.keys() >= {name for name in start if not name.startswith("pooler")}
    for name, value in start.items():
        if not name.startswith("pooler"):
            assert torch.allclose(trained[name], value, atol=1e-8), name


def test_the_seed_decides_the_training(encoder: SentenceTransformer) -> None:
    state = torch.random.get_rng_state()
    first = weights(fine_tune(encoder, pairs(0, 40), pairs(1, 20), QUICK, 3).model)
    assert torch.equal(torch.random.get_rng_state(), state), "the generator of others is left as it was"
    torch.rand(5)
    assert torch.equal(weights(fine_tune(encoder, pairs(0, 40), pairs(1, 20), QUICK, 3).model), first)
    assert not torch.allclose(weights(fine_tune(encoder, pairs(0, 40), pairs(1, 20), QUICK, 4).model), first)


def test_the_best_step_on_the_development_data_is_kept(
    encoder: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ease.evaluation.fine_tuning import PairClassifier

    given, seen = iter([0.2, 0.9, 0.9, 0.4, 0.1]), []

    def accuracy(self: PairClassifier, held: LabelledPairs) -> float:
        seen.append(weights(self.model).clone())
        return next(given)

    with monkeypatch.context() as patch:
        patch.setattr(PairClassifier, "accuracy", accuracy)
        trained = fine_tune(
            encoder,
            pairs(0, 40),
            pairs(1, 20),
            FineTuningSettings(**{**vars(QUICK), "evaluation_steps": 1}),
            3,
        )
    assert len(seen) == 5
    assert torch.equal(weights(trained.model), seen[1]), "the first of the two best"
    assert not trained.model.training


@pytest.mark.parametrize("name", ["bert-base-multilingual-cased", "roberta-base", "xlm-roberta-large"])
def test_the_papers_architectures_are_fine_tuned(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_encoder(tmp_path, name, [" ".join(WORDS)] * 5)
    (snapshot,) = (tmp_path / f"models--{name}" / "snapshots").iterdir()
    classifier = fine_tune(load_encoder(str(snapshot), "cls"), pairs(0, 16), pairs(1, 8), QUICK, 1)
    assert classifier.model.config.num_labels == 2
    assert 0 <= classifier.accuracy(pairs(2, 10)) <= 1


def test_batches_and_order_do_not_change_the_accuracy(encoder: SentenceTransformer) -> None:
    classifier = fine_tune(encoder, pairs(0, 40), pairs(1, 20), QUICK, 3)
    held = pairs(5, 50)
    predicted = [int(classifier.logits(held, [row]).argmax()) for row in range(50)]
    expected = np.mean(
        [classifier.classes[place] == label for place, label in zip(predicted, held.labels, strict=True)]
    )
    assert classifier.accuracy(held) == pytest.approx(expected)


def test_encoders_without_a_transformer_and_unknown_labels_are_refused(encoder: SentenceTransformer) -> None:
    bag = SentenceTransformer(modules=[BoW(["a", "b"])], device="cpu")
    with pytest.raises(EaseError, match="begins with BoW: only a transformer can be fine-tuned"):
        fine_tune(bag, pairs(0, 4), pairs(1, 4), QUICK, 0)

    def labelled(labels: Sequence[str]) -> LabelledPairs:
        return LabelledPairs(["a"] * len(labels), ["b"] * len(labels), labels)

    with pytest.raises(EaseError, match="All 2 training rows are of class 1"):
        fine_tune(encoder, labelled(["1", "1"]), labelled(["1"]), QUICK, 0)
    with pytest.raises(EaseError, match="No training row is of class 2, which the development data hold"):
        fine_tune(encoder, labelled(["0", "1"]), labelled(["2"]), QUICK, 0)
