"""CUDA graphs of a transformer's forward and backward pass: the host starts a few, not two thousand kernels a step.

A graph replays its kernels on the tensors that it was captured with. Batches of texts in rows have few shapes, and a
pair of graphs is captured for each of them, when it first occurs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from ease.errors import EaseError
from ease.methods.components.distributed import process_count
from ease.training import packing_in_rows
from ease.training.accelerator import uses_gpu
from ease.training.options import TrainingOptions
from ease.training.packing import IN_ROWS, Packing, PackingRefusal, prepare_packing

logger = logging.getLogger(__name__)

MOST = 8
"""Shapes that are captured; batches of further ones are computed kernel by kernel"""
WARM_UP = 3
"""Passes before the capture, which choose algorithms and compile"""

Features = dict[str, Any]
Record = Callable[[Callable[[], None]], Callable[[], None]]
"""Captures the kernels that a function starts, and returns a function that replays them"""


def graphed_rows(options: TrainingOptions, columns: int, encoder: SentenceTransformer) -> Packing | None:
    """Return packing in rows whose transformer runs as CUDA graphs; None, with a log line, if that is impossible.

    Args:
        options: The loop's parameters.
        columns: Text columns that the method encodes.
        encoder: The encoder to train.

    Raises:
        EaseError: If `graphs` is true, and something does not allow it.
    """
    if not options.graphs or (options.graphs == "auto" and not uses_gpu(options)):
        return None
    obstacle = _obstacle(options, columns)
    if obstacle is None:
        try:
            prepare_packing(encoder, IN_ROWS)
        except PackingRefusal as refusal:
            obstacle = refusal.reason
    if obstacle is None:
        logger.info("`graphs`: texts are packed in rows, and the transformer runs as CUDA graphs.")
        return IN_ROWS._replace(embed=partial(packing_in_rows.embed, transform=TransformerGraphs(encoder[0])))
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
    forward: Callable[[], None]
    backward: Callable[[], None]
    """Adds to the parameters' gradients"""


class TransformerGraphs:
    """A transformer module that replays its forward and backward pass in training; the same numbers, started at once.

    Weights are updated in place between replays, and random numbers go on from the device's generator, so that a
    checkpoint has all of the state. If the device or the transformer refuses, batches are computed without graphs.
    """

    def __init__(self, transformer: nn.Module, record: Record | None = None) -> None:
        """Take the first module of an encoder.

        Args:
            transformer: It maps features to features, `token_embeddings` among them.
            record: Default: captures on the current CUDA device.
        """
        self._transformer = transformer
        self._record = record
        self._captured: dict[tuple[torch.Size, ...], _Captured] = {}
        self._sums: dict[nn.Parameter, Tensor] = {}
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
        outputs = _Replay.apply(self, captured, self._trained, *values)
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

        def backward() -> list[Tensor | None]:
            with torch.autocast(device.type, enabled=False):
                return list(torch.autograd.grad(outputs, weights, gradients, allow_unused=True))

        def add_gradients() -> None:
            found = [gradient for gradient in backward() if gradient is not None]
            torch._foreach_add_(list(self._sums.values()), found)

        on_gpu = device.type == "cuda"
        self._record = self._record or _recorder()
        with torch.random.fork_rng([device] if on_gpu else []):
            with _on_another_stream() if on_gpu else nullcontext():
                for _ in range(WARM_UP):
                    forward()
                    gradients[:] = [torch.zeros_like(output) for output in outputs]
                    used = [
                        weight for weight, found in zip(weights, backward(), strict=True) if found is not None
                    ]
            if not self._sums:
                self._sums = {weight: torch.zeros_like(weight) for weight in used}
            recorded = self._record(forward), self._record(add_gradients)
        return _Captured(inputs, [output.detach() for output in outputs], gradients, *recorded)

    def own_gradients(self) -> None:
        """Make the parameters' gradients those to which the graphs add."""
        others = {weight: total for weight, total in self._sums.items() if weight.grad is not total}
        if others:
            torch._foreach_zero_(list(others.values()))
        for weight, total in others.items():
            if weight.grad is not None:
                total.copy_(weight.grad)
            weight.grad = total


class _Replay(torch.autograd.Function):
    """Both passes of a batch by the graphs of its shape."""

    @staticmethod
    def forward(ctx: Any, graphs: TransformerGraphs, captured: _Captured, _: Tensor, *values: Tensor) -> Any:
        ctx.graphs, ctx.captured = graphs, captured
        torch._foreach_copy_(captured.inputs, list(values))
        captured.forward()
        return tuple(output.detach() for output in captured.outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        torch._foreach_copy_(ctx.captured.gradients, list(gradients))
        ctx.graphs.own_gradients()
        ctx.captured.backward()
        return (None,) * (3 + len(ctx.captured.inputs))


def _on_another_stream() -> Any:
    """Return a context whose kernels run on a stream of their own, as a capture's do."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    return torch.cuda.stream(stream)


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
