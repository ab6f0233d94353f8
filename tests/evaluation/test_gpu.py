"""Search on a CUDA device."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ease.evaluation import search
from ease.evaluation.search import mutual_neighbours

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.mark.parametrize("group", [8, 128])
def test_a_gpu_finds_the_neighbours_that_numpy_finds(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "GROUP", group)
    random = np.random.default_rng(0)
    queries, targets = (random.normal(size=(rows, 32)).astype(np.float32) * 7 for rows in (300, 500))
    found = mutual_neighbours(queries, targets, 3, block=(128, 200))
    assert torch.cuda.max_memory_allocated() > 0
    left, right = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (queries, targets))
    for near, cosines in zip(found, (left @ right.T, right @ left.T), strict=True):
        assert np.array_equal(near.rows, np.argsort(-cosines, axis=1)[:, :3])
        assert np.allclose(near.cosines, -np.sort(-cosines, axis=1)[:, :3], atol=1e-5)
