"""nDCG equals that of trec_eval and of scikit-learn, and ties gain nothing."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from sklearn.metrics import ndcg_score

from ease.evaluation.retrieval import ndcg


@pytest.mark.parametrize("documents", [4, 12, 300])
def test_ndcg_equals_trec_evals_and_scikit_learns(documents: int) -> None:
    generator = np.random.default_rng(documents)
    rows, others = generator.normal(size=(20, 8)), generator.normal(size=(documents, 8))
    grades = generator.integers(0, 4, size=(20, documents)) * (generator.random((20, documents)) < 0.4)
    grades[:, 0] = 1
    ours = ndcg(rows, others, [{int(d): float(line[d]) for d in np.flatnonzero(line)} for line in grades])
    units = [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (rows, others)]
    cosines = units[0] @ units[1].T
    assert ours == pytest.approx(
        [ndcg_score([line], [own], k=10) for line, own in zip(grades, cosines, strict=True)]
    )
    judged = {str(q): {str(d): int(grade) for d, grade in enumerate(line)} for q, line in enumerate(grades)}
    run = {str(q): {str(d): float(cosine) for d, cosine in enumerate(line)} for q, line in enumerate(cosines)}
    found = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"}).evaluate(run)
    assert ours == pytest.approx([found[str(q)]["ndcg_cut_10"] for q in range(20)], abs=1e-6)


def test_a_collapsed_encoder_and_ties_gain_nothing() -> None:
    same = np.ones((30, 4))
    assert ndcg(same[:2], same, [{3: 1.0}, {29: 2.0}]) == pytest.approx([0, 0])
    documents = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    # Row 0 ties with row 1, which is not relevant, so it has rank 2; of two relevant ones, the lower gain comes first.
    assert ndcg(documents[:1], documents, [{0: 1.0}]) == pytest.approx([1 / np.log2(3)])
    best = 2 + 1 / np.log2(3)
    assert ndcg(documents[:1], documents, [{0: 2.0, 1: 1.0}]) == pytest.approx([(1 + 2 / np.log2(3)) / best])
