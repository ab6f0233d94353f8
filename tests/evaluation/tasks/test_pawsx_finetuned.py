"""PAWS-X with a fine-tuned encoder: scores, checks before a run, and encoders that cannot be trained."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.errors import EaseError
from ease.evaluation.fine_tuning import LabelledPairs, fine_tune
from ease.evaluation.scoring import reading_error
from ease.evaluation.sets import locate_sets
from ease.evaluation.tasks import Encode, main_score
from ease.evaluation.tasks.pawsx import read_paraphrases
from ease.evaluation.tasks.pawsx_finetuned import Options, evaluate
from tests.evaluation.tasks.test_pawsx import WORDS, write_pawsx


@pytest.fixture(scope="module")
def encoder() -> SentenceTransformer:
    sizes = RandomBertOptions(layers=1, hidden_size=16, heads=2, intermediate_size=32, vocabulary_size=300)
    return build_encoder(EncoderOptions(random=sizes, seed=1), [" ".join(WORDS)] * 20)


@pytest.fixture
def options(tmp_path: Path) -> Options:
    write_pawsx(tmp_path, ["en", "zh"])
    return Options(path=tmp_path, seeds=(1, 2), epochs=1, batch_size=32, learning_rate=1e-3, max_tokens=32)


def read(path: Path) -> LabelledPairs:
    pairs = read_paraphrases(path)
    return LabelledPairs(pairs.left, pairs.right, pairs.labels)


def test_each_language_is_scored_by_each_seed_s_training(
    options: Options, encoder: SentenceTransformer
) -> None:
    development, english, chinese, mean = evaluate(encode_with(encoder), options)
    training, held = (read(options.path / "en" / f"{name}.tsv") for name in ("train", "dev_2k"))
    trained = [fine_tune(encoder, training, held, options.settings, seed) for seed in (1, 2)]
    for score, path in (
        (english, "en/test_2k.tsv"),
        (chinese, "zh/test_2k.tsv"),
        (development, "en/dev_2k.tsv"),
    ):
        expected = [100 * one.accuracy(read(options.path / path)) for one in trained]
        assert score.value == pytest.approx(fmean(expected))
        assert score.deviation == pytest.approx(stdev(expected))
    assert [score.metric for score in (development, english)] == ["development_accuracy", "accuracy"]
    assert (mean.subset, mean.note) == ("average", "2 of 7 subsets")
    assert main_score([english, chinese, mean]) == pytest.approx(mean.value)


def test_the_files_are_checked_before_a_run(options: Options) -> None:
    tasks = {"pawsx_finetuned": options.model_dump()}
    assert set(locate_sets(["pawsx_finetuned"], tasks)["pawsx_finetuned"].subsets) == {"en", "zh"}
    assert reading_error("pawsx_finetuned", options, "zh") is None
    (options.path / "zh" / "test_2k.tsv").write_text(
        "id\tsentence1\tsentence2\tlabel\n1\ta\tb\t2\n", encoding="utf-8"
    )
    assert "zh/test_2k.tsv, line 2: the label '2' is neither 0 nor 1" in str(
        reading_error("pawsx_finetuned", options, "zh")
    )


def test_a_function_without_an_encoder_is_refused(options: Options, encode: Encode) -> None:
    with pytest.raises(EaseError, match="pawsx_finetuned: this task trains the encoder"):
        evaluate(encode, options)
    with pytest.raises(EaseError, match="pawsx_finetuned: this task trains the encoder"):
        evaluate(lambda sentences: np.ones((len(sentences), 2)), options)
