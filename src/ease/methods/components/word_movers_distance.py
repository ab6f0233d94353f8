"""Word Mover's Distance between the tokens of two sentences (Kusner et al. 2015, equation 1)."""

from __future__ import annotations

import torch
from ot import emd2
from ot.batch import solve_batch
from torch import Tensor

from ease.errors import EaseError

ITERATIONS = 1_000_000
"""Maximum iterations of the network simplex, far more than two sentences need"""

TOLERANCE = 1e-3
"""Residual mass at which Sinkhorn's algorithm stops; its error is below that of the regularisation"""


def word_movers_distances(
    first: Tensor,
    second: Tensor,
    first_mask: Tensor,
    second_mask: Tensor,
    regularization: float | None = None,
) -> Tensor:
    """Return the distance of each pair of sentences, without gradients; tokens have equal weights.

    The ground distance is Euclidean.

    Args:
        first: (n, width, dimension), token embeddings of the first sentences.
        second: (n, other width, dimension), token embeddings of the second sentences.
        first_mask: (n, width), 1 or true for the tokens to compare.
        second_mask: (n, other width), likewise.
        regularization: ε of Sinkhorn's algorithm (Cuturi 2013) relative to the pair's mean ground distance, on the
            device of the embeddings; the result is never below the exact distance. None: exact, by POT's network
            simplex on the CPU.

    Returns:
        (n,), in single precision or better.

    Raises:
        EaseError: If a sentence has no token or an embedding is not finite.
    """
    moved, reached = first_mask.bool(), second_mask.bool()
    empty = {side: ~mask.any(dim=1) for side, mask in (("first", moved), ("second", reached))}
    if named := [
        f"the {side} of pair {pair}"
        for side, rows in empty.items()
        for pair in rows.nonzero().flatten().tolist()
    ]:
        raise EaseError(
            f"Word Mover's Distance of a sentence without tokens: {', '.join(named)} in a batch of {len(moved)}. "
            "Remove texts that are empty, or that the tokenizer drops completely, from the training texts."
        )
    dtype = torch.promote_types(first.dtype, torch.float32)
    with torch.no_grad():
        # Computed by differences: with matrix products, the distance of a token to itself is not 0.
        ground = torch.cdist(first.to(dtype), second.to(dtype), compute_mode="donot_use_mm_for_euclid_dist")
        ground = ground.masked_fill(
            ~(moved.unsqueeze(2) & reached.unsqueeze(1)), 0
        )  # (n, width, other width)
        if not ground.isfinite().all():
            raise EaseError("The token embeddings are not finite: the weights of the anchor are broken.")
        if regularization is None:
            return _exact(ground, moved, reached)
        return _entropic(ground, moved, reached, regularization)


def _exact(ground: Tensor, moved: Tensor, reached: Tensor) -> Tensor:
    """Solve the pairs one by one, on the CPU in double precision."""
    pairs = zip(ground.double().cpu().numpy(), moved.cpu().numpy(), reached.cpu().numpy(), strict=True)
    costs = [
        # Empty weights are uniform in POT.
        emd2([], [], cost[rows][:, columns], numItermax=ITERATIONS, center_dual=False, check_marginals=False)
        for cost, rows, columns in pairs
    ]
    return torch.tensor(costs, dtype=ground.dtype, device=ground.device)


def _entropic(ground: Tensor, moved: Tensor, reached: Tensor, regularization: float) -> Tensor:
    """Solve all pairs at once; excluded tokens have weight 0."""
    weights, other_weights = (
        mask.to(ground.dtype) / mask.sum(dim=1, keepdim=True) for mask in (moved, reached)
    )
    mean = torch.einsum("nij,ni,nj->n", ground, weights, other_weights)
    unit = torch.where(mean > 0, mean, 1)  # equal sentences of one token
    costs = ground / unit[:, None, None]
    solved = solve_batch(
        costs, regularization, weights, other_weights, tol=TOLERANCE, method="log_sinkhorn", grad="detach"
    )
    distances: Tensor = solved.value_linear * unit
    return distances
