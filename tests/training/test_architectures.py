"""Encoders of today are trained, scored, saved and loaded; what an architecture lacks is refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import nn

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.methods import get_method, method_options
from ease.training.batches import make_batch
from ease.training.job import run_job
from ease.training.model import TrainingModel
from ease.training.prepared_pairs import open_pairs, prepare_pairs, prompt_tokens
from tests.training.architectures import ARCHITECTURES, write_architecture
from tests.training.gradients import Case, gradients
from tests.training.tiny_training import MakeJob, sentences

NAMES = sorted(ARCHITECTURES)


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of all tiny encoders."""
    folder = tmp_path_factory.mktemp("architectures")
    return {name: write_architecture(name, folder / name) for name in NAMES}


def still(folder: Path) -> SentenceTransformer:
    """Load an encoder without dropout."""
    encoder = load_encoder(str(folder)).eval()
    for module in encoder.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return encoder


def trained_embeddings(
    encoder: SentenceTransformer, files: Path, tmp_path: Path, packed: bool = False
) -> tuple[list[str], np.ndarray]:
    """Return all sentences of the pairs, and the embeddings that a training computes of them."""
    method = get_method("simcse").build(method_options("simcse", {}), encoder, None)
    model = TrainingModel(encoder, nn.Identity(), method, packed=packed).eval()
    layout = model.layout(64 - prompt_tokens(encoder))
    prepare_pairs(files / "pairs.parquet", None, encoder, layout, tmp_path / "prepared")
    rows = open_pairs(tmp_path / "prepared", layout)[:40]
    padding = encoder.tokenizer.pad_token_id
    batch = make_batch(rows, padding, 3, method.views, with_entities=False, packed=packed)
    with torch.no_grad():
        return sentences(), model.encode(batch).sentences[0].numpy()


@pytest.mark.parametrize("name", sorted({*NAMES} - {"bge-m3", "mbert", "modernbert", "xlm-roberta"}))
def test_an_encoder_is_trained_scored_saved_and_loaded(
    encoders: dict[str, Path], make_job: MakeJob, name: str
) -> None:
    loop = {
        "max_steps": 3,
        "evaluate_every": 3,
        "max_tokens": 24,
        "encoder_dropout": ARCHITECTURES[name].dropout,
    }
    result = run_job(make_job(encoder=str(encoders[name]), training=loop))
    assert result.start_score is not None
    assert result.best_score is not None
    loaded, start = SentenceTransformer(str(result.model), device="cpu"), load_encoder(str(encoders[name]))
    assert [type(module) for module in loaded] == [type(module) for module in start]
    assert loaded.prompts == start.prompts
    assert loaded.default_prompt_name == start.default_prompt_name
    assert loaded.tokenizer.padding_side == ARCHITECTURES[name].padding
    assert loaded[0].model.config.to_diff_dict().keys() == start[0].model.config.to_diff_dict().keys()  # type: ignore[union-attr, operator]
    texts = sentences()
    change = np.abs(loaded.encode(texts) - start.encode(texts)).max()
    assert 1e-4 < change < np.inf


@pytest.mark.parametrize("name", NAMES)
def test_embeddings_depend_neither_on_padding_nor_on_the_side_of_it(
    encoders: dict[str, Path], files: Path, tmp_path: Path, name: str
) -> None:
    """A training pads on the right, `encode` on the tokenizer's side; a single sentence has no padding at all."""
    encoder = still(encoders[name])
    texts, found = trained_embeddings(encoder, files, tmp_path)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.allclose(encoder.encode(texts), alone, atol=1e-4)
    assert np.allclose(found, alone, atol=1e-4)
    assert np.linalg.norm(alone - alone[::-1], axis=1).min() > 1e-2, (
        "the comparison would not notice anything"
    )


CAUSAL_OR_LOCAL = ("embeddinggemma", "mmbert", "modernbert", "qwen3-embedding")
"""Encoders whose attention is not that of all tokens of a text"""


@pytest.mark.parametrize("name", NAMES)
def test_packed_texts_have_the_embeddings_of_padded_ones(
    encoders: dict[str, Path], files: Path, tmp_path: Path, name: str
) -> None:
    encoder = still(encoders[name])
    expected = np.concatenate([encoder.encode([text]) for text in sentences()])
    if name in CAUSAL_OR_LOCAL:
        with pytest.raises(EaseError, match="embeddings of packed and of padded texts differ"):
            trained_embeddings(encoder, files, tmp_path, packed=True)
        return
    _, found = trained_embeddings(encoder, files, tmp_path, packed=True)
    assert np.allclose(found, expected, atol=1e-3)


REFUSED = {
    ("qwen3-embedding", "mlm"): r"Qwen2Tokenizer.* has none",
    ("qwen3-embedding", "mirror_bert"): r"Qwen2Tokenizer.* has none: set `span: 0`",
    ("embeddinggemma", "mlm"): "'gemma3_text' has no masked-language model",
}
"""Methods that an architecture does not support, with their messages"""


@pytest.mark.parametrize("method", ["ease", "mirror_bert", "mlm"])
@pytest.mark.parametrize("name", ["embeddinggemma", "mmbert", "qwen3-embedding"])
def test_a_method_trains_an_architecture_or_refuses_it(
    encoders: dict[str, Path], files: Path, tmp_path: Path, name: str, method: str
) -> None:
    case = Case(files, method, {}, 13, encoder=str(encoders[name]))
    if message := REFUSED.get((name, method)):
        with pytest.raises(EaseError, match=message):
            gradients(case, tmp_path)
        return
    found = gradients(case, tmp_path)
    assert found["loss"] > 0
    of_encoder = [value for parameter, value in found.items() if parameter.startswith("encoder.")]
    assert sum(float(value.abs().sum()) for value in of_encoder) > 0
    assert all(bool(value.isfinite().all()) for value in of_encoder)
