"""CUDA graphs of a transformer's forward and backward pass: the host starts a few, not two thousand kernels a step.

A graph replays its kernels on the tensors that it was captured with. Batches of texts in rows have few shapes, and a
pair of graphs is captured for each of them, when it first occurs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from ease.errors import EaseError
from ease.methods.components.distributed import process_count
from ease.training.accelerator import uses_gpu
from ease.training.options import TrainingOptions
from ease.training.packing import PackingRefusal, prepare_packing

logger = logging.getLogger(__name__)

MOST = 8
"""Shapes that are captured; batches of further ones are computed kernel by kernel"""
WARM_UP = 3
"""Passes before the capture, which choose algorithms and compile"""

Features = dict[str, Any]
Record = Callable[[Callable[[], None]], Callable[[], None]]
"""Captures the kernels that a function starts, and returns a function that replays them"""


def transformer_graphs(
    options: TrainingOptions, columns: int, encoder: SentenceTransformer
) -> TransformerGraphs | None:
    """Return the CUDA graphs of an encoder's transformer for packed texts; None, with a log line, if it has none.

    `columns` is the number of text columns that the method encodes.

    Raises:
        EaseError: If `graphs` is true, and something does not allow it.
    """
    if not options.graphs or (options.graphs == "auto" and not uses_gpu(options)):
        return None
    obstacle = _obstacle(options, columns)
    if obstacle is None:
        try:
            prepare_packing(encoder)
        except PackingRefusal as refusal:
            obstacle = refusal.reason
    if obstacle is None:
        logger.info("`graphs`: texts are packed in rows, and the transformer runs as CUDA graphs.")
        return TransformerGraphs(encoder[0])
    if options.graphs is True:
        raise EaseError(f"`graphs: true` is not possible here ({obstacle}): set `graphs: auto`.")
    logger.info("`graphs: auto`: the training runs without CUDA graphs (%s).", obstacle)
    return None


def _obstacle(options: TrainingOptions, columns: int) -> str | None:
    """Return what does not allow graphs."""
    if not uses_gpu(options):
        return "there is no GPU"
    # A graph's activations lie in memory that the next graph overwrites, so every forward pass is followed by its own
    # backward pass, and all its gradients are there at once.
    if process_count() > 1:
        return "several `processes` exchange gradients during the backward pass"
    if options.mini_batch_size is not None:
        return "`mini_batch_size` computes a batch in parts"
    if (options.length_chunks or 1) > 1:
        return "`length_chunks` cuts a batch into parts"
    if columns != 1:
        return f"the method encodes {columns} columns of texts"
    return None


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
    """A transformer module that replays its forward and backward pass in training; the same numbers, started at once.

    Weights are updated in place between replays, and random numbers go on from the device's generator, so that a
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
        names, values = list(features), list(features.values())
        captured = self._graphs_for(names, values) if self._transformer.training else None
        if captured is None:
            computed: Features = self._transformer(features)
            return computed
        outputs = _Replay.apply(captured, self._trained, *values)
        return {"token_embeddings": outputs[0], "all_layer_embeddings": list(outputs[1:])}

    def _graphs_for(self, names: list[str], values: list[Tensor]) -> _Captured | None:
        """Return the graphs of a shape, captured if it is new; None if it has none."""
        shape = tuple(value.shape for value in values)
        if shape in self._captured or self._refused or len(self._captured) == MOST:
            return self._captured.get(shape)
        try:
            self._captured[shape] = self._capture(names, values)
        except RuntimeError as error:
            self._refused = True
            reason = str(error).strip().partition("\n")[0]
            logger.warning("The training goes on without CUDA graphs, which this encoder refuses: %s", reason)
            return None
        if len(self._captured) == MOST:
            logger.info("%d shapes of batches have graphs; others are computed without", MOST)
        return self._captured[shape]

    def _capture(self, names: list[str], values: list[Tensor]) -> _Captured:
        """Capture both passes for a shape; random numbers and gradients are afterwards what they were."""
        device = values[0].device
        inputs = [value.clone() for value in values]
        outputs: list[Tensor] = []
        gradients: list[Tensor] = []
        weights = [weight for weight in self._transformer.parameters() if weight.requires_grad]
        half = torch.is_autocast_enabled(device.type)

        def forward() -> None:
            # Casts of weights that are kept from before would be those of today's weights.
            with torch.autocast(
                device.type, torch.get_autocast_dtype(device.type), half, cache_enabled=False
            ):
                computed = self._transformer(dict(zip(names, inputs, strict=True)))
            outputs[:] = [computed["token_embeddings"], *computed.get("all_layer_embeddings", [])]

        computed: dict[nn.Parameter, Tensor] = {}

        def backward() -> None:
            with torch.autocast(device.type, enabled=False):
                found = torch.autograd.grad(outputs, weights, gradients, allow_unused=True)
            for weight, gradient in zip(weights, found, strict=True):
                if gradient is not None:  # in the weight's order, as optimizers want it
                    same = gradient.stride() == weight.stride()
                    computed[weight] = gradient if same else torch.empty_like(weight).copy_(gradient)

        on_gpu = device.type == "cuda"
        self._record = self._record or _recorder()
        with torch.random.fork_rng([device] if on_gpu else []):
            with _on_another_stream() if on_gpu else nullcontext():
                for number in range(WARM_UP):
                    with _no_waiting() if on_gpu and number == WARM_UP - 1 else nullcontext():
                        forward()
                        gradients[:] = [torch.zeros_like(output) for output in outputs]
                        backward()
            # The nodes of their gradients belong to the other stream.
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
            weight.grad = None if weight.grad is None else weight.grad.clone()
        torch._foreach_copy_(captured.inputs, list(values))
        captured.forward()
        return tuple(output.detach() for output in captured.outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        captured: _Captured = ctx.captured
        torch._foreach_copy_(captured.gradients, list(gradients))
        captured.backward()
        for weight, gradient in captured.computed.items():
            weight.grad = gradient if weight.grad is None else weight.grad.add_(gradient)
        return (None,) * (2 + len(captured.inputs))


def _on_another_stream() -> Any:
    """Return a context whose kernels run on a stream of their own, as a capture's do."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    return torch.cuda.stream(stream)


@contextmanager
def _no_waiting() -> Iterator[None]:
    """Refuse what makes the host wait for the device: a capture that it broke would leave the generator unusable."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


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
