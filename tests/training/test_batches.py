"""Pairs and embeddings on disk, the order of the pairs, and the batches drawn from them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.training.batches import make_ahead, pair_indices
from ease.training.options import BatchOptions
from ease.training.prepared_pairs import BLOCK_ROWS, Layout, open_pairs, prepare_pairs, read_table


def prepare(files: Path, pairs: Path, target: Path) -> np.ndarray:
    encoder, layout = load_encoder(str(files / "encoder")), Layout(max_tokens=12, further=2)
    prepare_pairs(pairs, files / "vocabulary.parquet", encoder, layout, target)
    return open_pairs(target, layout)


COLUMNS = {
    "pair_id": [2, 0, 1],
    "sentence": ["Berlin is a large city with a river and more and more people", "Oslo", "Roma"],
    "entity": [-7, 2, 20],
    "hard_negative": pa.array([None, -4, -7], pa.int64()),
    "further_entities": pa.array([[-7, -4, 2], [2, 20], None], pa.list_(pa.int64())),
}


def write(folder: Path, **changes: Any) -> Path:
    columns = {name: values for name, values in {**COLUMNS, **changes}.items() if values is not None}
    pq.write_table(pa.table(columns), folder / "some.parquet")
    return folder / "some.parquet"


def test_pairs_are_tokens_and_table_rows_in_the_order_of_their_ids(files: Path, tmp_path: Path) -> None:
    stored = prepare(files, write(tmp_path), tmp_path / "pairs.bin")
    # The entities are rows 0, 1, 3 and 9 of the vocabulary, whose column says so: its file is not in their order.
    assert stored["entity"].tolist() == [2, 3, 0]
    assert stored["hard_negative"].tolist() == [1, 0, -1]
    tokenizer = load_encoder(str(files / "encoder")).tokenizer
    expected = tokenizer(["Oslo", "Roma"])["input_ids"]
    texts = stored["sentence"]
    assert [row["tokens"][: row["length"]].tolist() for row in texts[:2]] == expected
    assert texts["length"][2] == 12
    assert texts["tokens"][2][-1] == tokenizer.sep_token_id
    assert texts["present"].all()
    assert stored["further_entities"].tolist() == [[2, 3], [-1, -1], [0, 1]], "more than the places are left out"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentence": ["a", None, "b"]}, "1 texts of column 'sentence'.* are missing"),
        ({"entity": [2, None, 2]}, "1 entities are missing"),
        ({"entity": [2, 3, 2]}, "entity 3 is not in the entity vocabulary"),
        ({"hard_negative": [2, 99, 2]}, "hard negative 99 is not in the entity vocabulary"),
        ({"hard_negative": None}, r"lack the column\(s\) hard_negative; they have pair_id, sentence, entity"),
        ({name: pa.nulls(0, pa.string()) for name in COLUMNS}, "no row is left"),
    ],
)
def test_faulty_pairs_are_named(files: Path, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(EaseError, match=message):
        prepare(files, write(tmp_path, **changes), tmp_path / "pairs.bin")
    assert not (tmp_path / "pairs.bin").exists()


def test_an_epoch_visits_every_pair_at_most_once() -> None:
    steps = [indices.tolist() for indices in islice(pair_indices(np.empty(50, "V1"), 8, seed=3), 14)]
    for epoch in (steps[:6], steps[6:12]):
        counts = Counter(index for step in epoch for index in step)
        assert len(counts) == 48
        assert set(counts.values()) == {1}
    assert steps[:6] != steps[6:12]


CPU = torch.device("cpu")


def test_the_next_batches_are_made_in_order_while_one_is_used() -> None:
    assert list(make_ahead(iter([None, *range(100), None]), CPU)) == [None, *range(100), None]
    made = [threading.Event() for _ in range(3)]

    def make() -> Iterator[int]:
        for number in count():
            if number < len(made):
                made[number].set()
            yield number

    batches = make_ahead(make(), CPU, ahead=2)
    assert next(batches) == 0
    assert made[2].wait(timeout=10)
    batches.close()
    assert not any(thread.name.startswith("batches") for thread in threading.enumerate())


ONES = np.ones((3, 2), dtype=np.float32)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"rows": ONES[:, 0].copy()}, r"expected one matrix, found \{'rows': \(3,\)\}"),
        ({"rows": ONES}, "has 3 rows, and the vocabulary 10 entities"),
        (None, "are not a safetensors file"),
    ],
)
def test_faulty_tables_are_named(tmp_path: Path, tensors: dict[str, np.ndarray] | None, message: str) -> None:
    if tensors:
        save_file(tensors, tmp_path / "table.safetensors")
    with pytest.raises(EaseError, match=message):
        read_table(tmp_path / "table.safetensors", total=10)


def test_only_the_requested_rows_are_read(tmp_path: Path) -> None:
    embeddings = np.arange(300_000, dtype=np.float32).reshape(150_000, 2)
    save_file({"rows": embeddings}, tmp_path / "table.safetensors")
    rows = np.array([0, BLOCK_ROWS - 1, BLOCK_ROWS, 149_999])
    assert np.array_equal(read_table(tmp_path / "table.safetensors", rows).numpy(), embeddings[rows])


RANDOM = np.random.default_rng(0)
PAIRS = np.zeros(4000, [("entity", "<i8"), ("language", "<i2")])
"""Pairs of 4 languages and 200 entities, both of very different frequencies."""
PAIRS["language"] = RANDOM.choice(4, 4000, p=[0.6, 0.3, 0.08, 0.02])
PAIRS["entity"] = (RANDOM.random(4000) ** 2 * 200).astype(int)


def batches(steps: int, start: int = 0, seed: int = 1, **options: Any) -> list[NDArray[np.int64]]:
    return list(islice(pair_indices(PAIRS, 32, seed, start, BatchOptions(**options)), steps))


def test_sentences_of_an_entity_come_together_and_from_different_languages() -> None:
    epoch = batches(80, sentences_per_entity=2)
    rows = np.concatenate(epoch)
    assert len(set(rows)) == len(rows), "an epoch has each pair at most once"
    alone = sum(count == 1 for batch in epoch for count in Counter(PAIRS["entity"][batch]).values())
    assert alone < 0.02 * len(rows), "only a group cut by a batch's end is alone"
    entities, languages = PAIRS["entity"][rows], PAIRS["language"][rows]
    translations = (entities[1:] == entities[:-1]) & (languages[1:] != languages[:-1])
    assert translations.sum() > 0.49 * len(rows)


@pytest.mark.parametrize(
    "options", [{}, {"sentences_per_entity": 4}, {"languages": "single"}, {"language_exponent": 0.5}]
)
def test_a_training_resumes_at_any_step(options: dict[str, Any]) -> None:
    whole = batches(300, **options)
    for start in (1, 124, 130, 260):
        resumed = batches(5, start, **options)
        assert [rows.tolist() for rows in resumed] == [rows.tolist() for rows in whole[start : start + 5]]
    assert batches(3, **options)[0].tolist() != batches(3, seed=2, **options)[0].tolist()


def test_batches_of_one_language_hold_one_language_each() -> None:
    epoch = batches(100, languages="single")
    assert all(len(set(PAIRS["language"][rows])) == 1 for rows in epoch)
    assert {int(PAIRS["language"][rows[0]]) for rows in epoch} == {0, 1, 2, 3}


@pytest.mark.parametrize("exponent", [0.0, 0.5])
def test_languages_are_drawn_in_proportion_to_the_powers_of_frequencies(exponent: float) -> None:
    rows = np.concatenate(batches(1500, language_exponent=exponent))
    counts = np.bincount(PAIRS["language"])
    expected = counts**exponent * (counts > 0)
    found = np.bincount(PAIRS["language"][rows], minlength=len(counts)) / len(rows)
    assert np.abs(found - expected / expected.sum()).max() < 0.03


def test_a_batch_that_no_language_fills_is_refused() -> None:
    few = PAIRS[PAIRS["language"] == 3]
    with pytest.raises(EaseError, match="No language has the 100 pairs of a batch: lower `batch_size`"):
        next(pair_indices(few, 100, 1, options=BatchOptions(languages="single")))
