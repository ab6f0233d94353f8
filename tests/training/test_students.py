"""Students: their start is as described, they learn their teacher's embeddings, and they are saved and resumed."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer

import ease
from ease.encoders.encoder import build_encoder, load_encoder, save_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.encoders.static import is_static
from ease.errors import EaseError
from ease.training.checkpoints import Pace
from ease.training.students import LearningOptions, ShallowOptions, StaticOptions, distilling
from ease.training.students.distilling import Distilled, distill_student
from ease.training.students.learning import cosine_distance
from ease.training.students.static import token_embeddings
from ease.training.students.targets import open_sentences, principal_directions
from tests.training.architectures import ARCHITECTURES, write_architecture
from tests.training.tiny_training import sentences

WORDS = "city river people house große Stadt Fluss Menschen большой город река 大きな 都市 川".split()
SENTENCES = [f"{a} {b} {c}" for a in WORDS for b in WORDS[:8] for c in WORDS[3:6]]
QUICK: dict[str, Any] = {"epochs": 3, "batch_size": 32, "learning_rate": 3e-2, "checkpoint_seconds": 0}


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved BERT of three layers and 16 dimensions."""
    sizes = {"layers": 3, "hidden_size": 16, "heads": 2, "intermediate_size": 16, "vocabulary_size": 300}
    folder = tmp_path_factory.mktemp("teacher") / "encoder"
    encoder = build_encoder(EncoderOptions(random=RandomBertOptions(**sizes), seed=1), SENTENCES * 2)
    with torch.no_grad():
        for name, parameter in first(encoder).model.named_parameters():
            if "layer.1" in name or "layer.2" in name:
                parameter.mul_(10)  # random layers hardly change their input otherwise
    save_encoder(encoder, folder)
    return folder


def static(**options: Any) -> StaticOptions:
    return StaticOptions(learning=LearningOptions(**{**QUICK, **options.pop("learning", {})}), **options)


def shallow(**options: Any) -> ShallowOptions:
    return ShallowOptions(learning=LearningOptions(**{**QUICK, **options.pop("learning", {})}), **options)


def first(encoder: SentenceTransformer) -> Any:
    """Return an encoder's first module."""
    return encoder[0]


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def similarity(teacher: Path, student: Distilled, dimension: int | None = None) -> float:
    """Return the correlation of the cosines of all pairs of sentences by the teacher and by its student."""
    cosines = []
    for encoder, cut in ((load_encoder(str(teacher)), None), (load_encoder(str(student.model)), dimension)):
        rows = unit(np.asarray(encoder.encode(SENTENCES))[:, :cut])
        cosines.append((rows @ rows.T)[np.triu_indices(len(rows), 1)])
    return float(np.corrcoef(*cosines)[0, 1])


def test_principal_directions_keep_cosines_and_come_in_order() -> None:
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.normal(size=(6, 6)))[0]
    rows = (random.normal(size=(9000, 6)) * (9, 3, 1, 0.3, 0.1, 0.03)) @ basis
    directions = principal_directions(rows.astype(np.float16), None)
    np.testing.assert_allclose(directions.T @ directions, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(np.abs(np.diag(directions.T @ basis.T))[:3], 1, atol=1e-2)
    np.testing.assert_array_equal(principal_directions(rows.astype(np.float16), 2), directions[:, :2])


def test_the_loss_is_the_mean_over_the_dimensions() -> None:
    student, teacher = torch.tensor([[1.0, 1.0, 0.0]]), torch.tensor([[1.0, 0.0, 5.0]])
    expected = ((1 - 1 / np.sqrt(2 * 26)) + (1 - 1.0) + (1 - 1 / np.sqrt(2))) / 3
    assert cosine_distance(student, teacher, (None, 1, 2)).item() == pytest.approx(expected, rel=1e-5)


def test_a_static_student_starts_from_weighted_principal_directions_of_the_tokens(
    teacher: Path, tmp_path: Path
) -> None:
    options = static(dimension=4, int8=False, frequency_scale=0.01, learning={"epochs": 0})
    made = distill_student(str(teacher), SENTENCES, options, tmp_path)
    encoder = load_encoder(str(teacher))
    tokenizer = encoder.tokenizer
    alone = np.asarray(
        [
            encoder({"input_ids": torch.tensor([[tokenizer.cls_token_id, token, tokenizer.sep_token_id]])})[
                "sentence_embedding"
            ][0]
            .detach()
            .numpy()
            for token in range(len(tokenizer))
        ],
        dtype=np.float64,
    )
    np.testing.assert_allclose(token_embeddings(encoder), alone, rtol=1e-5, atol=1e-4)
    targets = unit(encoder.encode(SENTENCES)).astype(np.float16)
    vectors = alone @ principal_directions(targets, 4)
    vectors -= vectors.mean(axis=0)
    vectors /= np.sqrt((vectors**2).mean())
    ids = [token for text in SENTENCES for token in tokenizer(text, add_special_tokens=False)["input_ids"]]
    shares = np.bincount(ids, minlength=len(tokenizer)) / len(ids)
    vectors *= (0.01 / (0.01 + shares))[:, None]
    vectors[tokenizer.all_special_ids] = 0
    table = first(load_encoder(str(made.model))).embedding.weight.detach().numpy()
    # The sign of a principal direction is arbitrary.
    signs = np.sign((table * vectors).sum(axis=0))
    np.testing.assert_allclose(table * signs, vectors, atol=2e-2)
    assert (made.dimension, made.sentences, made.history) == (4, len(SENTENCES), [])


def test_a_static_student_learns_its_teachers_similarities(teacher: Path, tmp_path: Path) -> None:
    start = distill_student(str(teacher), SENTENCES, static(learning={"epochs": 0}), tmp_path / "start")
    made = distill_student(str(teacher), SENTENCES, static(), tmp_path / "learned")
    assert similarity(teacher, made) > similarity(teacher, start) + 0.2


def test_a_shallow_student_learns_its_teachers_embeddings(teacher: Path, tmp_path: Path) -> None:
    learning = {"epochs": 8, "learning_rate": 3e-3, "report_every": 1}
    made = distill_student(str(teacher), SENTENCES, shallow(learning=learning), tmp_path)
    losses = [values["loss"] for values in made.history]
    assert losses[-1] < losses[0] / 2
    found, wanted = (unit(load_encoder(str(path)).encode(SENTENCES)) for path in (made.model, teacher))
    assert 1 - (found * wanted).sum(axis=1).mean() < losses[0] / 2


def test_the_learning_rate_decays_linearly_to_zero(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []
    step = torch.optim.Adam.step

    def noted(optimizer: torch.optim.Adam, *arguments: Any) -> Any:
        rates.append(optimizer.param_groups[0]["lr"])
        return step(optimizer, *arguments)

    monkeypatch.setattr(torch.optim.Adam, "step", noted)
    distill_student(str(teacher), SENTENCES, static(), tmp_path)
    steps = 3 * -(-len(SENTENCES) // 32)
    assert rates == pytest.approx([3e-2 * (1 - done / steps) for done in range(steps)])


def test_the_first_dimensions_of_a_student_are_trained_too(teacher: Path, tmp_path: Path) -> None:
    options = static(matryoshka=(4,), learning={"epochs": 6})
    made = distill_student(str(teacher), SENTENCES, options, tmp_path)
    encoder = load_encoder(str(teacher))
    targets = unit(encoder.encode(SENTENCES)).astype(np.float16)
    best = unit(targets.astype(np.float64) @ principal_directions(targets, 4))
    found = unit(load_encoder(str(made.model)).encode(SENTENCES)[:, :4])
    # Cosines do not depend on the signs of directions.
    assert np.corrcoef((best @ best.T).ravel(), (found @ found.T).ravel())[0, 1] > 0.7


def test_integers_are_loaded_by_the_library_and_differ_by_half_a_step(teacher: Path, tmp_path: Path) -> None:
    tables = {}
    for int8 in (False, True):
        made = distill_student(str(teacher), SENTENCES, static(int8=int8), tmp_path / str(int8))
        tables[int8] = (
            first(SentenceTransformer(str(made.model), device="cpu")).embedding.weight.detach().numpy()
        )
        (file,) = made.model.rglob("model.safetensors")
        stored = load_file(file)
    assert [str(stored[name].dtype) for name in ("embeddings", "weights")] == ["int8", "float32"]
    assert tables[True].dtype == np.float32
    assert (np.abs(tables[True] - tables[False]) <= stored["weights"][:, None] * 0.5001 + 1e-9).all()
    assert np.abs(tables[True]).max() > 0.1


def test_a_shallow_student_starts_as_its_teachers_first_layers(teacher: Path, tmp_path: Path) -> None:
    options = shallow(layers=2, learning={"epochs": 0})
    student = load_encoder(str(distill_student(str(teacher), SENTENCES, options, tmp_path).model))
    own, given = first(student).model, first(load_encoder(str(teacher))).model
    assert (own.config.num_hidden_layers, len(own.encoder.layer), len(given.encoder.layer)) == (2, 2, 3)
    for name, tensor in own.state_dict().items():
        assert torch.equal(tensor, given.state_dict()[name]), name


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_encoders_of_today_have_students(tmp_path: Path, name: str) -> None:
    teacher, texts = write_architecture(name, tmp_path), sentences()
    for options in (static(dimension=8), shallow(layers=1, learning={"learning_rate": 1e-3})):
        learning = options.learning.model_copy(update={"report_every": 1, "batch_size": 8})
        options = options.model_copy(update={"learning": learning})
        made = distill_student(str(teacher), texts, options, tmp_path / type(options).__name__)
        losses = [values["loss"] for values in made.history]
        assert np.mean(losses[-5:]) < np.mean(losses[:5])
        student = load_encoder(str(made.model))
        found = encode_with(student)(texts)
        assert found.shape == (len(texts), made.dimension)
        assert np.isfinite(found).all()
    assert first(student).model.config.num_hidden_layers == 1
    wanted = unit(encode_with(load_encoder(str(teacher)))(texts))
    assert 1 - (unit(found) * wanted).sum(axis=1).mean() < losses[0]


class StoppedError(Exception):
    """Stops a run."""


def test_a_student_without_its_result_is_not_taken_for_an_earlier_one(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoppedError

    distill_student(str(teacher), SENTENCES, static(dimension=8), tmp_path)
    monkeypatch.setattr(distilling, "write_text_atomically", full)
    with pytest.raises(StoppedError):
        distill_student(str(teacher), SENTENCES, static(dimension=4), tmp_path)
    monkeypatch.undo()
    again = distill_student(str(teacher), SENTENCES, static(dimension=8), tmp_path)
    assert load_encoder(str(again.model)).get_embedding_dimension() == 8


@pytest.mark.parametrize("options", [static(), shallow(layers=1)])
def test_an_interrupted_student_resumes_to_the_same_one(
    teacher: Path, tmp_path: Path, options: StaticOptions | ShallowOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ease.training.students.learning.Pace", partial(Pace, share=1))  # after every step
    learning = options.learning.model_copy(update={"report_every": 3})
    options = options.model_copy(update={"learning": learning})
    steps: list[int] = []

    def stop(step: int, values: dict[str, float]) -> None:
        if step == 12:
            raise StoppedError

    with pytest.raises(StoppedError):
        distill_student(str(teacher), SENTENCES, options, tmp_path / "stopped", report=stop)
    resumed = distill_student(
        str(teacher), SENTENCES, options, tmp_path / "stopped", report=lambda step, values: steps.append(step)
    )
    complete = distill_student(str(teacher), SENTENCES, options, tmp_path / "complete")
    assert steps[0] == 12, "the last checkpoint was after step 11, two steps after a report"
    assert resumed.history == complete.history
    tables = [load_encoder(str(made.model)).state_dict() for made in (resumed, complete)]
    for name, tensor in tables[0].items():
        assert torch.equal(tensor, tables[1][name]), name
    kept = sorted(path.name for path in (tmp_path / "stopped").iterdir())
    assert kept == ["model", "result.json", "sentences.arrow"]


def test_a_finished_student_is_not_made_again_unless_an_option_changes(teacher: Path, tmp_path: Path) -> None:
    calls: list[int] = []

    def note(step: int, values: dict[str, float]) -> None:
        calls.append(step)

    first = distill_student(str(teacher), SENTENCES, static(), tmp_path, report=note)
    made = len(calls)
    assert distill_student(str(teacher), SENTENCES, static(), tmp_path, report=note) == first
    assert len(calls) == made
    distill_student(str(teacher), SENTENCES, static(seed=5), tmp_path, report=note)
    assert len(calls) == 2 * made


def test_fast_encoding_equals_the_librarys(teacher: Path, tmp_path: Path) -> None:
    made = distill_student(str(teacher), SENTENCES, static(learning={"epochs": 0}), tmp_path)
    student = load_encoder(str(made.model))
    assert is_static(student)
    assert not is_static(load_encoder(str(teacher)))
    texts = [*SENTENCES * 7, "", "ω unknown", "city " * 900]
    np.testing.assert_array_equal(encode_with(student)(texts), student.encode(texts))


def test_distillation_from_python_leaves_the_teacher_as_it_is(teacher: Path, tmp_path: Path) -> None:
    given = load_encoder(str(teacher))
    before = {name: tensor.clone() for name, tensor in given.state_dict().items()}
    student = ease.distill(given, SENTENCES + SENTENCES, folder=tmp_path, dimension=8, learning=QUICK)
    assert student.encode("city").shape == (8,)
    assert all(torch.equal(tensor, before[name]) for name, tensor in given.state_dict().items())
    small = ease.distill(teacher, SENTENCES, "shallow", layers=1, learning=QUICK)
    assert first(small).model.config.num_hidden_layers == 1


@pytest.mark.parametrize(
    ("options", "sentences", "message"),
    [
        (static(dimension=17), SENTENCES, "`dimension` 17 is above the teacher's 16: set it to 16 at most"),
        (
            static(matryoshka=(16,)),
            SENTENCES,
            "`matryoshka` 16: give numbers from 1 to 15, below the student's 16",
        ),
        (static(dimension=8, matryoshka=(8,)), SENTENCES, "`matryoshka` 8: give numbers from 1 to 7"),
        (shallow(layers=3), SENTENCES, "`layers` 3: the teacher has 3 layers, so give 1 to 2"),
        (static(), [], "no training sentence"),
    ],
)
def test_faults_are_named(
    teacher: Path, tmp_path: Path, options: StaticOptions | ShallowOptions, sentences: list[str], message: str
) -> None:
    with pytest.raises(EaseError, match=message):
        distill_student(str(teacher), sentences, options, tmp_path)
    assert not (tmp_path / "model").exists()


def test_a_teacher_without_layers_or_tokenizer_is_refused(teacher: Path, tmp_path: Path) -> None:
    made = distill_student(str(teacher), SENTENCES, static(learning={"epochs": 0}), tmp_path / "student")
    shutil.copytree(made.model, tmp_path / "static")
    for options, message in (
        (shallow(), "needs a transformer"),
        (static(), "needs a teacher with a fast tokenizer"),
    ):
        with pytest.raises(EaseError, match=message):
            distill_student(str(tmp_path / "static"), SENTENCES, options, tmp_path / "work")
    with pytest.raises(EaseError, match="Unknown student 'tiny'"):
        ease.distill(teacher, SENTENCES, "tiny")
    with pytest.raises(EaseError, match=r"Options of the student: .*dimensions.*dimension"):
        ease.distill(teacher, SENTENCES, dimensions=4)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ("a city", "a single text: give a list"),
        (["a city", 1], "holds 1 \\(int\\): give texts"),
        ({"sentence": SENTENCES}, "is a table: give its column of texts"),
        (pd.DataFrame({"sentence": SENTENCES}), "is a table: give its column of texts"),
        (pa.table({"sentence": SENTENCES}), "is a table: give its column of texts"),
        (["a city \ud800"], r"'a city \\ud800', which UTF-8 cannot write: surrogates not allowed\. Remove"),
        ([], "`sentences` is empty: give texts"),
    ],
)
def test_anything_but_texts_is_refused(teacher: Path, sentences: Any, message: str) -> None:
    with pytest.raises(EaseError, match=message):
        ease.distill(teacher, sentences)


def test_rows_limits_the_sentences_from_python_too(teacher: Path, tmp_path: Path) -> None:
    ease.distill(teacher, SENTENCES, rows=2, seed=3, folder=tmp_path, learning={"epochs": 0})
    drawn = open_sentences(tmp_path / "sentences.arrow").to_pylist()
    assert len(drawn) == 2
    assert drawn == [sentence for sentence in SENTENCES if sentence in drawn]


def test_a_column_of_a_table_is_distilled_as_a_list(teacher: Path) -> None:
    learning = {"epochs": 1}
    expected = ease.distill(teacher, SENTENCES, learning=learning)
    for column in (pa.array(SENTENCES), pa.chunked_array([SENTENCES]), pd.Series(SENTENCES)):
        found = ease.distill(teacher, column, learning=learning)
        assert np.array_equal(found.encode(SENTENCES), expected.encode(SENTENCES))
