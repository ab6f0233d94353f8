"""Students: they start from their teacher, learn its embeddings, and are saved and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer

import ease
from ease.encoders.encoder import build_encoder, load_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.errors import EaseError
from ease.training.options import LearningOptions, ShallowOptions, StaticOptions
from ease.training.students import Distilled, distill_student, first_layers, static_student
from tests.training.tiny_training import Stop, stop_at

WORDS = "city river people house große Stadt Fluss Menschen большой город река 大きな 都市 川".split()
SENTENCES = [f"{a} {b} {c}" for a in WORDS for b in WORDS[:6] for c in WORDS[3:5]]
QUICK: dict[str, Any] = {"epochs": 3, "batch_size": 60, "learning_rate": 5e-2}


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved BERT of three layers and 16 dimensions."""
    sizes = {"layers": 3, "hidden_size": 16, "heads": 2, "intermediate_size": 16, "vocabulary_size": 300}
    folder = tmp_path_factory.mktemp("teacher") / "encoder"
    encoder = build_encoder(EncoderOptions(random=RandomBertOptions(**sizes), seed=1), SENTENCES * 2)
    first: Any = encoder[0]
    with torch.no_grad():
        for name, parameter in first.model.named_parameters():
            if "layer.1" in name or "layer.2" in name:
                parameter.mul_(10)  # random layers hardly change their input otherwise
    save_encoder(encoder, folder)
    return folder


@pytest.fixture(scope="module")
def made(teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> Distilled:
    return distill_student(
        str(teacher), SENTENCES, options(StaticOptions, matryoshka=(8,)), tmp_path_factory.mktemp("static")
    )


def options(kind: type[StaticOptions] | type[ShallowOptions], **given: Any) -> StaticOptions | ShallowOptions:
    return kind(learning=LearningOptions(**{**QUICK, **given.pop("learning", {})}), **given)


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def similarity(teacher: Path, student: Distilled, dimension: int | None = None) -> float:
    """Return the correlation of the cosines of all pairs of sentences by the teacher and by its student."""
    cosines = []
    for folder, cut in ((teacher, None), (student.model, dimension)):
        rows = unit(np.asarray(load_encoder(str(folder)).encode(SENTENCES))[:, :cut])
        cosines.append((rows @ rows.T)[np.triu_indices(len(rows), 1)])
    return float(np.corrcoef(*cosines)[0, 1])


def test_a_static_student_starts_from_the_embeddings_of_single_tokens(teacher: Path) -> None:
    encoder = load_encoder(str(teacher))
    tokenizer = encoder.tokenizer
    student: Any = static_student(encoder, np.eye(16))[0]
    table = student.embedding.weight.detach().numpy()
    ids = [[tokenizer.cls_token_id, token, tokenizer.sep_token_id] for token in range(len(tokenizer))]
    alone = encoder({"input_ids": torch.tensor(ids)})["sentence_embedding"].detach().numpy()
    vectors = alone - alone.mean(axis=0)
    assert not table[tokenizer.all_special_ids].any()
    plain = [token for token in range(len(tokenizer)) if token not in tokenizer.all_special_ids]
    np.testing.assert_allclose((unit(table[plain]) * unit(vectors[plain])).sum(axis=1), 1, atol=1e-4)
    lengths = np.linalg.norm(table[plain], axis=1) / np.linalg.norm(vectors[plain], axis=1)
    assert (np.diff(lengths) > 0).all(), "more frequent tokens, which come first, weigh less"


def test_a_static_student_learns_its_teachers_similarities(teacher: Path, made: Distilled, tmp_path: Path) -> None:
    start = distill_student(str(teacher), SENTENCES, options(StaticOptions, learning={"epochs": 0}), tmp_path / "a")
    assert similarity(teacher, made) > similarity(teacher, start) + 0.1
    assert similarity(teacher, made, 8) > similarity(teacher, start, 8) + 0.1


def test_a_shallow_student_starts_as_first_layers_and_learns_embeddings(teacher: Path, tmp_path: Path) -> None:
    given = load_encoder(str(teacher))
    own, whole = (encoder.state_dict() for encoder in (first_layers(given, 1), given))
    assert own.keys() < whole.keys()
    assert all(torch.equal(own[name], whole[name]) for name in own)
    shallow = options(ShallowOptions, learning={"epochs": 5, "learning_rate": 1e-2})
    made = distill_student(str(teacher), SENTENCES, shallow, tmp_path)
    losses = [values["loss"] for values in made.history]
    assert losses[-1] < losses[0] / 2
    found, wanted = (unit(load_encoder(str(path)).encode(SENTENCES)) for path in (made.model, teacher))
    assert 1 - (found * wanted).sum(axis=1).mean() < losses[0] / 2


def test_integers_are_loaded_by_the_library_and_differ_by_half_a_step(
    teacher: Path, made: Distilled, tmp_path: Path
) -> None:
    exactly = options(StaticOptions, int8=False, matryoshka=(8,))
    whole = distill_student(str(teacher), SENTENCES, exactly, tmp_path)
    modules: list[Any] = [SentenceTransformer(str(one.model), device="cpu")[0] for one in (made, whole)]
    found, exact = (module.embedding.weight.detach().numpy() for module in modules)
    (file,) = made.model.rglob("model.safetensors")
    stored = load_file(file)
    assert [str(stored[name].dtype) for name in ("embeddings", "weights")] == ["int8", "float32"]
    assert (np.abs(found - exact) <= stored["weights"][:, None] * 0.5001 + 1e-9).all()


def test_an_interrupted_student_resumes_to_the_same_one(teacher: Path, made: Distilled, tmp_path: Path) -> None:
    steps: list[int] = []

    def run(report: Any) -> Distilled:
        chosen = options(StaticOptions, matryoshka=(8,))
        return distill_student(str(teacher), SENTENCES, chosen, tmp_path, report=report)

    with pytest.raises(Stop):
        run(stop_at(5))
    resumed = run(lambda step, values: steps.append(step))
    assert steps[0] == 5
    assert resumed.history == made.history
    tables = [load_encoder(str(one.model)).state_dict() for one in (resumed, made)]
    assert all(torch.equal(tensor, tables[1][name]) for name, tensor in tables[0].items())
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_distillation_from_python_leaves_the_teacher_and_the_column_as_they_are(teacher: Path) -> None:
    given = load_encoder(str(teacher))
    before = {name: tensor.clone() for name, tensor in given.state_dict().items()}
    learning = {"epochs": 1, "batch_size": 90}
    expected = ease.distill(given, SENTENCES + SENTENCES, dimension=8, learning=learning)
    assert all(torch.equal(tensor, before[name]) for name, tensor in given.state_dict().items())
    found = ease.distill(teacher, pd.Series(SENTENCES), dimension=8, learning=learning)
    assert np.array_equal(found.encode(SENTENCES), expected.encode(SENTENCES))


@pytest.mark.parametrize(
    ("given", "texts", "message"),
    [
        ({"dimension": 17}, SENTENCES, "`dimension` 17 is above the teacher's 16"),
        ({"dimension": 8, "matryoshka": (8,)}, SENTENCES, "`matryoshka` 8"),
        ({"student": "shallow", "layers": 3}, SENTENCES, "`layers` 3: the teacher has 3"),
        ({"student": "tiny"}, SENTENCES, "Unknown student 'tiny'"),
        ({"dimensions": 4}, SENTENCES, "Options of the student: .*dimensions"),
        ({}, ["a city", 1], "must be a list of texts"),
    ],
)
def test_faults_are_named(teacher: Path, given: dict[str, Any], texts: Any, message: str) -> None:
    with pytest.raises(EaseError, match=message):
        ease.distill(teacher, texts, **given)


def test_a_teacher_without_a_transformer_is_refused(teacher: Path) -> None:
    static = static_student(load_encoder(str(teacher)), np.eye(16))
    for kind in ("static", "shallow"):
        with pytest.raises(EaseError, match="transformer"):
            ease.distill(static, SENTENCES, kind)
