"""Supervised SimCSE: its loss against scalars, its batches, and a training."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch import Tensor

from ease.errors import EaseError
from ease.methods.base import TOTAL
from ease.training.job import run_job
from tests.methods.made import build, cosine, floats, inputs
from tests.training.tiny_training import PLACES, MakeJob, losses

PRESENT = torch.tensor([[True] * 4, [True] * 4, [True, False, True, False]])


def loss_by_hand(texts: Tensor, temperature: float, present: list[bool], weight: float = 0.0) -> float:
    """Equation 5 of anchors, positives and negatives, (3, n, dimension), one number after the other."""
    anchors, positives, negatives = texts.tolist()
    found = []
    for index, anchor in enumerate(anchors):
        denominator = sum(math.exp(cosine(anchor, other) / temperature) for other in positives)
        for place, other in enumerate(negatives):
            if present[place]:
                denominator += math.exp(cosine(anchor, other) / temperature + weight * (place == index))
        found.append(math.log(denominator) - cosine(anchor, positives[index]) / temperature)
    return sum(found) / len(found)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_loss_is_equation_5(weight: float) -> None:
    texts = floats(1, 3, 4, 6)
    method = build("supervised_simcse", temperature=0.3, hard_negative_weight=weight)
    expected = loss_by_hand(texts, 0.3, PRESENT[2].tolist(), weight)
    assert method(inputs(texts, present=PRESENT))[TOTAL].item() == pytest.approx(expected, rel=1e-5)


def test_the_defaults_are_those_of_the_paper() -> None:
    texts, method = floats(1, 3, 4, 6), build("supervised_simcse")
    expected = loss_by_hand(texts, 0.05, [True] * 4)
    assert method(inputs(texts))[TOTAL].item() == pytest.approx(expected, rel=1e-5)
    assert not list(method.parameters())


def write_triplets(folder: Path, negatives: bool = True) -> Path:
    """80 triplets over ten places: a sentence, another on the same place, and one on the next place."""
    rows = [PLACES[number % 10] for number in range(80)]
    others = [PLACES[(number + 1) % 10] for number in range(80)]
    columns = {
        "sentence": [f"{place} is a large city" for place in rows],
        "positive": [f"people like {place}" for place in rows],
        "negative": pa.array(
            [f"people like {other}" if number % 3 else None for number, other in enumerate(others)]
        ),
    }
    path = folder / "triplets.parquet"
    pq.write_table(
        pa.table({name: column for name, column in columns.items() if negatives or name != "negative"}), path
    )
    return path


def test_a_training_learns_and_leaves_the_encoder_alone(make_job: MakeJob, tmp_path: Path) -> None:
    changes = {"pairs": write_triplets(tmp_path), "method": "supervised_simcse", "development": {}}
    result = run_job(make_job(training={"max_steps": 40}, **changes))
    found = list(losses(result).values())
    # Ten places in a batch of 16: some of its positives are the same text, which no encoder can tell apart.
    assert sum(found[-5:]) < 0.7 * sum(found[:5])
    assert not (result.model / "training").exists()


def test_texts_without_negatives_train_and_without_positives_are_refused(
    make_job: MakeJob, tmp_path: Path
) -> None:
    pairs = write_triplets(tmp_path, negatives=False)
    result = run_job(make_job("pairs", pairs=pairs, method="supervised_simcse", training={"max_steps": 2}))
    assert result.steps == 2
    table = pq.read_table(pairs)
    lacking = pa.array([None, *table["positive"].to_pylist()[1:]])
    pq.write_table(table.set_column(1, "positive", lacking), pairs)
    with pytest.raises(EaseError, match="1 texts of column 'positive', which the method requires"):
        run_job(make_job("lacking", pairs=pairs, method="supervised_simcse"))
    pq.write_table(table.drop(["positive"]), pairs)
    with pytest.raises(EaseError, match=r"lack the column\(s\) positive; they have sentence"):
        run_job(make_job("without", pairs=pairs, method="supervised_simcse"))
