"""A transformer's passes in half precision on a CPU.

Under autocast, each layer casts its inputs, residuals and norms are in single precision, and each chunk of a batch has
a gradient for every row of the vocabulary. Here, the weights of layers are cast once a step, residuals and norms are
in half precision, and a chunk adds the gradients of its own tokens; a large vocabulary's gradient is sparse, and its
optimizer computes the rows in use. Weights, their gradients and the optimizer stay in single precision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call

from ease.encoders.attention import use_cpu_attention
from ease.encoders.dropout import FastDropout
from ease.errors import EaseError
from ease.training.changed_rows import LARGE_TABLE

Features = dict[str, Any]


class HalfTransformer:
    """Computes an encoder's transformer in autocast's precision inside autocast, and as it is elsewhere."""

    def __init__(self, encoder: SentenceTransformer) -> None:
        """Take an encoder's first module; its dropout, tables and attention become faster, and are saved as before."""
        self._transformer = encoder[0]
        for module in self._transformer.modules():
            if type(module) is nn.Dropout:
                module.__class__ = FastDropout
            elif type(module) is nn.Embedding and module.max_norm is None:
                module.__class__ = TokenTable
        self._tables = [module for module in self._transformer.modules() if isinstance(module, TokenTable)]
        use_cpu_attention(encoder)
        in_tables = {id(table.weight) for table in self._tables}
        self._weights = {
            name: weight for name, weight in self._transformer.named_parameters() if id(weight) not in in_tables
        }
        self._cast_weights: dict[str, Tensor] = {}

    def cast(self) -> None:
        """Cast the weights for the passes of a step."""
        if torch.is_autocast_enabled("cpu"):
            cast: Sequence[Tensor] = CastWeights.apply(torch.get_autocast_dtype("cpu"), *self._weights.values())
            self._cast_weights = dict(zip(self._weights, cast, strict=True))

    def __call__(self, features: Features) -> Features:
        """Compute the embeddings of tokens, in single precision."""
        if not torch.is_autocast_enabled("cpu"):
            return self._transformer(features)
        with torch.autocast("cpu", enabled=False), self._tables_in(torch.get_autocast_dtype("cpu")):
            computed: Features = functional_call(self._transformer, self._cast_weights, (features,))
        computed["token_embeddings"] = computed["token_embeddings"].float()
        if "all_layer_embeddings" in computed:
            computed["all_layer_embeddings"] = [layer.float() for layer in computed["all_layer_embeddings"]]
        return computed

    @contextmanager
    def _tables_in(self, precision: torch.dtype) -> Iterator[None]:
        """Make tables return rows in a precision in this block."""
        for table in self._tables:
            table.precision = precision
        try:
            yield
        finally:
            for table in self._tables:
                table.precision = None


class TokenTable(nn.Embedding):
    """A table of embeddings, to whose gradient each backward pass adds the rows that it has read.

    If `sparse`, the gradient has only the rows that a step has read.
    """

    precision: torch.dtype | None = None
    """Of the rows that are read; None: of the table"""
    before_reading: Callable[[Tensor | None], None] | None = None
    """Brings different rows, or all of them, up to date; set by an optimizer that defers steps"""

    def forward(self, input: Tensor) -> Tensor:
        """Read rows, by numbers of any shape."""
        if self.before_reading is not None:
            self.before_reading(input.unique())
        rows: Tensor = _ReadRows.apply(input, self.weight, self.padding_idx, self.sparse)
        return rows.to(self.precision or rows.dtype)

    def reduce_gradient(self) -> Tensor:
        """Complete the table's sparse gradient.

        Returns:
            (u, dimension), rows whose gradient has the values of the sparse one, to be clipped.

        Raises:
            EaseError: If the gradient is dense, because something else has read the table.
        """
        gradient = self.weight.grad
        assert gradient is not None
        if not gradient.is_sparse:
            raise EaseError(
                "The token embeddings have a dense gradient: a method that reads their matrix has to say so in "
                "`Reads.token_matrix`; an encoder that does so can be trained with `precision: fp32`."
            )
        self.weight.grad = gradient = gradient.coalesce()
        rows = torch.empty_like(gradient.values())
        rows.grad = gradient.values()
        return rows


def use_sparse_gradients(model: nn.Module) -> None:
    """Make the gradients of a model's large tables sparse, except for weights that another module has, too."""
    uses = Counter(id(weight) for _, weight in model.named_parameters(remove_duplicate=False))
    for module in model.modules():
        if isinstance(module, TokenTable):
            module.sparse = len(module.weight) >= LARGE_TABLE and uses[id(module.weight)] == 1


class _ReadRows(torch.autograd.Function):
    """Rows of a table; their gradient is added to the table's, since torch makes a table of zeros for each pass."""

    @staticmethod
    def forward(ctx: Any, numbers: Tensor, weight: Tensor, padding: int | None, sparse: bool) -> Tensor:
        ctx.weight = weight
        ctx.padding = padding
        ctx.sparse = sparse
        ctx.save_for_backward(numbers)
        return weight[numbers]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None, None]:
        (numbers,) = ctx.saved_tensors
        if ctx.padding is not None:
            gradient = gradient.masked_fill((numbers == ctx.padding).unsqueeze(-1), 0)
        weight: Tensor = ctx.weight
        rows, values = numbers.flatten(), gradient.flatten(0, -2)
        if ctx.sparse:
            # Texts repeat tokens: a row for each token would take more memory than the table in a large batch.
            added = torch.sparse_coo_tensor(rows[None], values, weight.shape, check_invariants=False).coalesce()
            if weight.grad is not None:
                added = weight.grad + added
            weight.grad = added
        else:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
            weight.grad.index_add_(0, rows, values)
        return None, None, None, None


class CastWeights(torch.autograd.Function):
    """Copies of weights in half precision by a few kernels for all, and their gradients in single precision."""

    @staticmethod
    def forward(ctx: Any, half: torch.dtype, *weights: Tensor) -> Any:
        """Copy weights."""
        ctx.set_materialize_grads(False)
        return _copied(weights, half)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        """Copy gradients, of which some may be missing."""
        # A weight that the outputs do not depend on, such as a pooler's, has no gradient.
        singles: list[Tensor | None] = list(gradients)
        places = [place for place, gradient in enumerate(gradients) if gradient is not None]
        copies = _copied([gradient for gradient in gradients if gradient is not None], torch.float32)
        for place, copy in zip(places, copies, strict=True):
            singles[place] = copy
        return (None, *singles)


def _copied(tensors: Sequence[Tensor], kind: torch.dtype) -> tuple[Tensor, ...]:
    copies = [torch.empty_like(tensor, dtype=kind) for tensor in tensors]
    torch._foreach_copy_(copies, list(tensors))
    return tuple(copies)
