"""Word Mover's Distance (Kusner et al. 2015, equation 1): what it costs to move one sentence's tokens to another's."""

from __future__ import annotations

import torch
from ot import emd2
from ot.batch import solve_batch
from torch import Tensor

from ease.errors import EaseError

ITERATIONS = 1_000_000
"""Of the network simplex at most, far beyond what two sentences need."""

TOLERANCE = 1e-3
"""Share of the mass at which Sinkhorn's algorithm stops: what is left matters less than the regularisation."""


def word_movers_distances(
    first: Tensor,
    second: Tensor,
    first_mask: Tensor,
    second_mask: Tensor,
    regularization: float | None = None,
) -> Tensor:
    """Compute the distance of each pair of sentences; all tokens of a sentence weigh the same.

    The ground distance is Euclidean. No gradient flows through the result.

    Args:
        first: (n, width, dimension), token embeddings of the first sentences.
        second: (n, other width, dimension), those of the second ones.
        first_mask: (n, width), 1 or true for the tokens that are moved.
        second_mask: (n, other width), likewise.
        regularization: None for the exact distance, by POT's network simplex on the CPU. Else ε of Sinkhorn's
            algorithm (Cuturi 2013) as a share of the pair's mean ground distance: the cost of the plan of that
            entropy, which is never below the exact distance, on the device of the embeddings.

    Returns:
        (n,), at least in single precision, in the unit of the embeddings.

    Raises:
        EaseError: If a sentence has no token, so that it has no distance, or an embedding is not finite.
    """
    moved, reached = first_mask.bool(), second_mask.bool()
    _check_tokens(moved, reached)
    dtype = torch.promote_types(first.dtype, torch.float32)
    with torch.no_grad():
        # By differences: the distance of a token to itself is 0, which it is not by products.
        ground = torch.cdist(first.to(dtype), second.to(dtype), compute_mode="donot_use_mm_for_euclid_dist")
        ground = ground.masked_fill(
            ~(moved.unsqueeze(2) & reached.unsqueeze(1)), 0
        )  # (n, width, other width)
        if not ground.isfinite().all():
            raise EaseError(
                "The token embeddings are not finite: the encoder of the tokens has broken weights."
            )
        if regularization is None:
            return _exact(ground, moved, reached)
        return _entropic(ground, moved, reached, regularization)


def _check_tokens(moved: Tensor, reached: Tensor) -> None:
    empty = {side: ~mask.any(dim=1) for side, mask in (("first", moved), ("second", reached))}
    named = [
        f"the {side} of pair {pair}"
        for side, rows in empty.items()
        for pair in rows.nonzero().flatten().tolist()
    ]
    if named:
        raise EaseError(
            f"Word Mover's Distance of a sentence without tokens: {', '.join(named)} in a batch of {len(moved)}. "
            "Remove texts that are empty, or hold only what the tokenizer drops, from the training texts."
        )


def _exact(ground: Tensor, moved: Tensor, reached: Tensor) -> Tensor:
    """Solve one pair after the other, on the CPU and in double precision."""
    pairs = zip(ground.double().cpu().numpy(), moved.cpu().numpy(), reached.cpu().numpy(), strict=True)
    costs = [
        # Without weights POT takes equal ones.
        emd2([], [], cost[rows][:, columns], numItermax=ITERATIONS, center_dual=False, check_marginals=False)
        for cost, rows, columns in pairs
    ]
    return torch.tensor(costs, dtype=ground.dtype, device=ground.device)


def _entropic(ground: Tensor, moved: Tensor, reached: Tensor, regularization: float) -> Tensor:
    """Solve all pairs at once; tokens that are left out weigh nothing."""
    weights, other_weights = (
        mask.to(ground.dtype) / mask.sum(dim=1, keepdim=True) for mask in (moved, reached)
    )
    mean = torch.einsum("nij,ni,nj->n", ground, weights, other_weights)
    unit = torch.where(mean > 0, mean, 1)  # one sentence of a single token, to itself
    costs = ground / unit[:, None, None]
    solved = solve_batch(
        costs, regularization, weights, other_weights, tol=TOLERANCE, method="log_sinkhorn", grad="detach"
    )
    distances: Tensor = solved.value_linear * unit
    return distances
