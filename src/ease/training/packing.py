"""Packed texts: rows of 64 tokens with several whole texts each, and CUDA graphs of a transformer for them.

Torch's attention sees the rows as padded texts, with a mask that keeps every token to its own text. Batches have few
shapes, which lets a GPU reuse its choice of algorithms. With at most 64 tokens in a row, attention computes its
gradients in one block, and thus in a fixed order.

With CUDA graphs, the host starts a few graphs a step instead of two thousand kernels. A graph replays its kernels on
the tensors that it was captured with; a pair of graphs is captured for each shape of rows, when it first occurs. In
half precision, the weights are cast together, once a step, and the residuals and norms are also in half precision.
Under autocast, they would be in single precision, which takes longer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate.utils import send_to_device
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from torch.func import functional_call

from ease.device import gpus_of
from ease.encoders.attention import TORCH, has_torch_attention, prepare_padding
from ease.errors import EaseError
from ease.training.half_precision import CastWeights, Features

logger = logging.getLogger(__name__)

ROW_TOKENS = 64
"""Tokens of a row; if a text is longer, the next multiple"""
ROW_STEPS = 32
"""Numbers of rows between a power of two and the next; at most 1/32 of the rows are padding alone"""

PACKING_TOLERANCE = 1e-3
"""Relative difference allowed between packed and padded embeddings; padding changes the order of sums"""
LONGEST = 512
"""Tokens of the longest text that is compared; longer than the windows of known local attention"""

MAX_SHAPES = 8
"""Shapes that are captured; batches of further ones are computed kernel by kernel"""
WARM_UP = 3
"""Passes before a capture, in which torch chooses algorithms and compiles"""

Record = Callable[[Callable[[], None]], Callable[[], None]]
"""Captures the kernels that a function starts, and returns a function that replays them"""

Transform = Callable[[dict[str, Any]], dict[str, Any]]
"""Features of texts to features of their tokens, as an encoder's first module computes them"""


class Packed(NamedTuple):
    """n texts in order of length, each repeated for each view, in rows of w tokens; the longest has t tokens."""

    tokens: Tensor
    """(rows, w)"""
    positions: Tensor
    """(rows, w), the position of each token in its text"""
    owners: Tensor
    """(rows, w), the text of each token; -1 for padding"""
    places: Tensor
    """(n * views, t), where the tokens of each text are in the rows; 0 for padding"""
    mask: Tensor
    """(n * views, t), 1 for tokens and 0 for padding"""


def pack(tokens: NDArray[np.int32], lengths: NDArray[np.int32], views: int) -> Packed:
    """Put padded texts, (n, width), in order of their lengths, (n,), into rows; the views of a text are adjacent."""
    lengths = np.repeat(lengths, views)
    tokens = np.repeat(tokens, views, axis=0)
    width = -(-int(lengths.max()) // ROW_TOKENS) * ROW_TOKENS
    starts, size = _fill_rows(lengths, width)
    # A GPU chooses its algorithms anew for each shape. So that a training run has few shapes, the number of rows is
    # rounded up to a multiple of the largest power of two below it, divided by `ROW_STEPS`.
    largest_power = 1 << (size // width).bit_length() - 1
    unit = max(1, largest_power // ROW_STEPS) * width
    size = -(-size // unit) * unit
    mask = np.arange(lengths.max()) < lengths[:, None]  # (n * views, t)
    places = np.where(mask, starts[:, None] + np.arange(mask.shape[1]), 0)
    texts, positions = np.nonzero(mask)

    def in_rows(values: NDArray[Any], padding: int) -> Tensor:
        """Put a value of each token, in the order of `mask`, at the token's place: -> (rows, w)."""
        column = np.full(size, padding)
        column[places[mask]] = values
        return torch.from_numpy(column).view(-1, width)

    return Packed(
        in_rows(tokens[texts, positions], 0),
        in_rows(positions, 0),
        in_rows(texts, -1),
        torch.from_numpy(places),
        torch.from_numpy(mask.astype(np.int64)),
    )


def _fill_rows(lengths: NDArray[np.int32], width: int) -> tuple[NDArray[np.int64], int]:
    """Put each text, the longest first, into the fullest row with room for it.

    Returns the place of each text's first token, (n,), and the number of places in all rows.
    """
    # Best-fit decreasing, a bin-packing heuristic. A row is known by the place after its last one.
    starts = np.empty(len(lengths), np.int64)
    size = 0
    ends_by_room: list[list[int]] = [[] for _ in range(width + 1)]
    for text in range(len(lengths) - 1, -1, -1):
        length = int(lengths[text])
        room = next((room for room in range(length, width + 1) if ends_by_room[room]), None)
        if room is None:
            room = width
            size += width
            end = size
        else:
            end = ends_by_room[room].pop()
        starts[text] = end - room
        ends_by_room[room - length].append(end)
    return starts, size


def embed_packed(
    encoder: SentenceTransformer, packed: Packed, first_position: int, transform: Transform | None = None
) -> Tensor:
    """Embed texts in rows: -> (n * views, dimension); `transform` computes in place of the encoder's transformer."""
    owners = packed.owners
    inputs = {
        "input_ids": packed.tokens,
        "position_ids": packed.positions + first_position,
        # Padding attends to padding: a token without any would have no attention weights.
        "attention_mask": owners[:, None, :, None] == owners[:, None, None, :],
    }
    encoded = (transform or encoder[0])(inputs)
    features: dict[str, Any] = {
        "token_embeddings": _Move.apply(encoded["token_embeddings"], packed),
        "attention_mask": packed.mask,
    }
    if layers := encoded.get("all_layer_embeddings"):
        features["all_layer_embeddings"] = [_Move.apply(layer, packed) for layer in layers]
    for module in list(encoder)[1:]:
        features = module(features)
    embeddings: Tensor = features["sentence_embedding"]
    return embeddings


class _Move(torch.autograd.Function):
    """Tokens of each text: (rows, w, size) -> (n * views, t, size).

    The backward pass also gathers their gradients, which torch would sort and add instead.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, packed: Packed) -> Tensor:
        ctx.packed = packed
        return rows.flatten(0, 1)[packed.places]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        packed: Packed = ctx.packed
        places = packed.owners * gradient.shape[1] + packed.positions
        padding = packed.owners.unsqueeze(2) < 0
        return gradient.flatten(0, 1)[places.clamp(min=0)].masked_fill(padding, 0), None


class PackingRefusal(EaseError):
    """An encoder cannot be trained with packed texts."""

    def __init__(self, reason: str) -> None:
        """Name the reason and the remedy."""
        super().__init__(f"This encoder cannot be trained with `packed: true` ({reason}): set `packed: false`.")
        self.reason = reason


def prepare_packing(encoder: SentenceTransformer) -> int:
    """Make an encoder accept packed texts; return the first position number, which differs between architectures.

    Padded texts are encoded as before.
    """
    transformer = encoder[0]
    if not has_torch_attention(transformer):
        raise PackingRefusal("its attention is not torch's `scaled_dot_product_attention`")
    if any(module._forward_pre_hooks for module in transformer.modules()):
        raise PackingRefusal("the method's DropHead counts sequences, which packing hides")
    prepare_padding(encoder)
    # sentence-transformers drops features that the model's `forward` does not accept by name.
    parameter_names: Any = transformer.model_forward_params
    if parameter_names is not None:
        parameter_names.add("position_ids")
    # RoBERTa and its descendants number positions from the padding token's id plus 1, BERT from 0.
    padding = encoder.tokenizer.pad_token_id or 0
    for first_position in (0, padding + 1):
        if _encodes_alike(encoder, first_position):
            return first_position
    transformer.model.set_attn_implementation(TORCH)
    raise PackingRefusal("its embeddings of packed and of padded texts differ")


def _encodes_alike(encoder: SentenceTransformer, first_position: int) -> bool:
    """Return whether texts of several lengths have the same embeddings packed and padded."""
    config: Any = encoder[0].config
    positions = getattr(config, "max_position_embeddings", None) or LONGEST
    longest = min(encoder.max_seq_length or LONGEST, LONGEST, positions - first_position)
    if longest < 1:  # the number of the padding token is above all positions
        return False
    texts = encoder.tokenizer(
        ["a", "a b c d e", "a b " * longest], truncation=True, max_length=longest, return_attention_mask=False
    )["input_ids"]
    lengths = np.array([len(ids) for ids in texts])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int32)  # padded on the right
    tokens = np.zeros(mask.shape, dtype=np.int32)
    tokens[mask > 0] = np.concatenate(texts)
    padded = {"input_ids": torch.from_numpy(tokens).long(), "attention_mask": torch.from_numpy(mask).long()}
    training = encoder.training
    encoder.eval()
    with torch.inference_mode():
        from_padded = encoder(send_to_device(padded, encoder.device))["sentence_embedding"]
        packed = send_to_device(pack(tokens, lengths, 1), encoder.device)
        from_packed = embed_packed(encoder, packed, first_position)
    encoder.train(training)
    distances = (from_padded - from_packed).norm(dim=1)
    return bool((distances <= PACKING_TOLERANCE * from_padded.norm(dim=1)).all())


class _Captured(NamedTuple):
    """The graphs of one shape, with the tensors that they read and write."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    gradients: list[Tensor]
    """Of the outputs"""
    computed: dict[nn.Parameter, Tensor]
    """The gradients of the parameters that the outputs depend on"""
    forward: Callable[[], None]
    backward: Callable[[], None]


class TransformerGraphs:
    """A transformer module that replays its forward and backward pass in training, with the same numbers.

    Weights are updated in place between replays, and random numbers continue from the device's generator, so that a
    checkpoint has all of the state. If the device or the transformer refuses, batches are computed without graphs.
    """

    def __init__(self, transformer: nn.Module, record: Record | None = None) -> None:
        """Take an encoder's first module; `record` captures on the current CUDA device by default."""
        self._transformer = transformer
        self._record = record
        self._captured: dict[tuple[torch.Size, ...], _Captured] = {}
        self._refused = False
        # An autograd function has gradients if one of its arguments has.
        self._trained = torch.zeros((), requires_grad=True)

    def __call__(self, features: Features) -> Features:
        """Compute a batch: by its shape's graphs, or, in evaluation and for shapes without graphs, kernel by kernel."""
        names = list(features)
        values = list(features.values())
        shape = tuple(value.shape for value in values)
        captured = self._captured
        training = self._transformer.training
        if training and shape not in captured and not self._refused and len(captured) < MAX_SHAPES:
            try:
                captured[shape] = self._capture(names, values)
                if len(captured) == MAX_SHAPES:
                    logger.info("%d shapes of batches have graphs; others are computed without", MAX_SHAPES)
            except RuntimeError as error:
                self._refused = True
                reason = str(error).strip().partition("\n")[0]
                logger.warning("Training goes on without CUDA graphs, which this encoder refuses: %s", reason)
        if not training or shape not in captured:
            outputs = self._compute(features)
        else:
            outputs = _Replay.apply(captured[shape], self._trained, *values)
        return {"token_embeddings": outputs[0], "all_layer_embeddings": list(outputs[1:])}

    def _compute(self, features: Features) -> list[Tensor]:
        """Return the embeddings of the tokens, and of all layers if the transformer returns them."""
        device = features["input_ids"].device.type
        weights: dict[str, Tensor] = {}
        if torch.is_autocast_enabled(device):
            names, masters = zip(*self._transformer.named_parameters(), strict=True)
            cast = CastWeights.apply(torch.get_autocast_dtype(device), *masters)
            weights = dict(zip(names, cast, strict=True))
        with torch.autocast(device, enabled=False):
            computed = functional_call(self._transformer, weights, (features,))
        return [layer.float() for layer in (computed["token_embeddings"], *computed.get("all_layer_embeddings", []))]

    def _capture(self, names: list[str], values: list[Tensor]) -> _Captured:
        """Capture both passes for a shape; random states and gradients stay unchanged."""
        device = values[0].device
        inputs = [value.clone() for value in values]
        outputs: list[Tensor] = []
        gradients: list[Tensor] = []
        weights = [weight for weight in self._transformer.parameters() if weight.requires_grad]

        def forward() -> None:
            outputs[:] = self._compute(dict(zip(names, inputs, strict=True)))

        computed: dict[nn.Parameter, Tensor] = {}

        def backward() -> None:
            with torch.autocast(device.type, enabled=False):
                of_weights: tuple[Tensor | None, ...] = torch.autograd.grad(
                    outputs, weights, gradients, allow_unused=True
                )
            for weight, gradient in zip(weights, of_weights, strict=True):
                if gradient is None:
                    continue
                # Optimizers want a gradient in its weight's memory order.
                if gradient.stride() != weight.stride():
                    gradient = torch.empty_like(weight).copy_(gradient)
                computed[weight] = gradient

        on_gpu = device.type == "cuda"
        self._record = self._record or _recorder()
        with torch.random.fork_rng(gpus_of(device)):
            with _warm_up_stream(device):
                for number in range(WARM_UP):
                    if on_gpu and number == WARM_UP - 1:
                        # Refuse what makes the host wait: a capture that it broke would leave the generator unusable.
                        torch.cuda.set_sync_debug_mode("error")
                    forward()
                    gradients[:] = [torch.zeros_like(output) for output in outputs]
                    backward()
            # Their autograd nodes belong to the warm-up's stream.
            outputs.clear()
            computed.clear()
            recorded = self._record(forward), self._record(backward)
        return _Captured(inputs, [output.detach() for output in outputs], gradients, computed, *recorded)


class _Replay(torch.autograd.Function):
    """Both passes of a batch by the graphs of its shape."""

    @staticmethod
    def forward(ctx: Any, captured: _Captured, _: Tensor, *values: Tensor) -> Any:
        ctx.captured = captured
        # An earlier sub-batch's gradients are in memory that the replays overwrite.
        for weight in captured.computed:
            if weight.grad is not None:
                weight.grad = weight.grad.clone()
        torch._foreach_copy_(captured.inputs, list(values))
        captured.forward()
        return tuple(output.detach() for output in captured.outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        captured: _Captured = ctx.captured
        torch._foreach_copy_(captured.gradients, list(gradients))
        captured.backward()
        for weight, gradient in captured.computed.items():
            if weight.grad is None:
                weight.grad = gradient
            else:
                weight.grad.add_(gradient)
        return (None,) * (2 + len(captured.inputs))


@contextmanager
def _warm_up_stream(device: torch.device) -> Iterator[None]:
    """Run kernels on a stream of their own, as a capture does; restore the mode of waiting for the device.

    Without a GPU, nothing changes.
    """
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.Stream()
    mode = torch.cuda.get_sync_debug_mode()
    stream.wait_stream(torch.cuda.current_stream())
    try:
        with torch.cuda.stream(stream):
            yield
    finally:
        torch.cuda.set_sync_debug_mode(mode)


def _recorder() -> Record:
    """Return a function that captures on the current device; its graphs share their memory, as they never overlap."""
    pool = torch.cuda.graph_pool_handle()

    def record(function: Callable[[], None]) -> Callable[[], None]:
        graph = torch.cuda.CUDAGraph()
        # A capture that fails does not return to this stream by itself. Other threads go on copying batches.
        with (
            torch.cuda.stream(torch.cuda.current_stream()),
            torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"),
        ):
            function()
        replay: Callable[[], None] = graph.replay
        return replay

    return record
