"""A device that this machine lacks: its tensors are computed on the CPU, and what a GPU would refuse is refused.

This module registers the device. So that other tests do not meet it, it is a program, which trains jobs on the device.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

aten = torch.ops.aten
NAME = "pretended"


class _Backend(_DummyBackendModule):
    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]


_setup_privateuseone_for_python_backend(NAME, backend_module=_Backend())
DEVICE = torch.device(NAME, 0)
COPIES = {aten._to_copy.default, aten.copy_.default}
WAITING = {
    aten._local_scalar_dense.default,  # item(), float(), if
    aten.is_nonzero.default,
    aten.equal.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique.default,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.unique_consecutive.default,
    aten.bincount.default,
    aten.repeat_interleave.Tensor,
}
"""Operations whose result has a size or a value that the host needs"""


class Refused(Exception):
    """A GPU would refuse an operation, or make the host wait for it where nothing may wait."""


class Pretended(Tensor):
    """A tensor on the device; `here` is its copy on the CPU."""

    here: Tensor

    @staticmethod
    def __new__(cls: type[Self], here: Tensor) -> Self:
        like: dict[str, Any] = {"strides": here.stride(), "storage_offset": here.storage_offset()}
        made: Self = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, here.shape, dtype=here.dtype, layout=here.layout, device=DEVICE, **like
        )
        made.here = here
        return made

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["here"], None

    def untyped_storage(self) -> torch.UntypedStorage:
        return self.here.untyped_storage()

    def storage(self) -> Any:
        return self.here.storage()

    def data_ptr(self) -> int:
        return self.here.data_ptr()

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return compute(func, args, kwargs or {})


class OnDevice(TorchDispatchMode):
    """Makes new tensors on the device where an operation asks for them there."""

    may_wait: ClassVar = True
    """False: operations that make the host wait for the device are refused, also in the gradients' thread"""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(func, args, kwargs or {})


def compute(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Compute an operation on the CPU; its result is on the device if an argument or the option `device` is."""
    tensors = [value for value in tree_leaves((args, kwargs)) if isinstance(value, Tensor)]
    there = [value for value in tensors if isinstance(value, Pretended)]
    wanted = torch.device(kwargs["device"]) if kwargs.get("device") is not None else None
    to_device = wanted.type == NAME if wanted else bool(there)
    if there or to_device:
        _check(func, args, kwargs, tensors, to_device)
    options = {**kwargs, "device": torch.device("cpu")} if wanted else kwargs
    on_cpu = tree_map_only(Pretended, lambda value: value.here, (args, options))
    result = func(*on_cpu[0], **on_cpu[1])
    if func is aten._to_copy.default and result.data_ptr() == on_cpu[0][0].data_ptr():
        result = result.clone()
    if func is aten.copy_.default:
        return args[0]
    if to_device:
        result = tree_map_only(Tensor, Pretended, result)
    return return_and_correct_aliasing(func, args, kwargs, result) if there else result


def _check(func: Any, args: Any, kwargs: dict[str, Any], tensors: list[Tensor], to_device: bool) -> None:
    """Refuse what a GPU refuses, and where nothing may wait, what makes the host wait for it."""
    if func in COPIES:
        target = to_device if func is aten._to_copy.default else isinstance(args[0], Pretended)
        source = isinstance(args[func is aten.copy_.default], Pretended)
        ahead = target and (kwargs.get("non_blocking") or args[2:] == (True,))
        if target != source and not ahead and not OnDevice.may_wait:
            raise Refused(f"{func} copies between host and device, which waits for the device")
        return
    shapes = [tuple(value.shape) for value in tensors if not isinstance(value, Pretended) and value.dim()]
    if shapes:
        raise Refused(f"{func} reads tensors of the host beside the device's: their shapes are {shapes}")
    by_mask = func is aten.index.Tensor and any(
        isinstance(part, Tensor) and part.dtype in (torch.bool, torch.uint8) for part in args[1]
    )
    if (func in WAITING or by_mask) and not OnDevice.may_wait:
        raise Refused(f"{func}{' by a mask' * by_mask} waits for the device")


class _NoGradient(torch.no_grad):
    """In place of inference mode, which tensors of other classes do not support."""

    def __new__(cls, mode: bool = True) -> Any:
        return object.__new__(cls) if mode else torch.enable_grad()

    def __init__(self, mode: bool = True) -> None:
        super().__init__()


class _Generator:
    """In place of torch's, which has none for the device."""

    def __new__(cls, device: Any = None) -> Any:
        return torch._C.Generator("cpu")


@contextmanager
def no_waiting() -> Iterator[None]:
    """Refuse operations that make the host wait for the device."""
    OnDevice.may_wait = False
    try:
        yield
    finally:
        OnDevice.may_wait = True


def install() -> None:
    """Replace what the device does not support, before sentence-transformers is imported."""
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    torch.inference_mode = _NoGradient  # type: ignore[assignment, misc]
    torch.Generator = _Generator  # type: ignore[misc]


def train_all(jobs: dict[str, list[str]]) -> dict[str, Any]:
    """Train the jobs of some folders; return the parts of their steps that ran, or the errors.

    Args:
        jobs: The parts of a step that may wait for the device, by folder.
    """
    from ease.training import job, loop
    from ease.training.accelerator import accelerated
    from ease.training.loop import add_gradients
    from ease.training.optimizers import Optimizers
    from ease.training.options import TrainingJob
    from ease.training.packing import choose_packing

    ran: list[str] = []
    waiting: list[str] = []

    def guarded(name: str, function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            ran.append(name)
            with no_waiting() if name not in waiting else nullcontext():
                return function(*arguments)

        return call

    @contextmanager
    def on_device(options: Any) -> Iterator[Any]:
        with accelerated(options) as accelerator, OnDevice():
            accelerator.state.device = DEVICE
            yield accelerator

    def for_gpu(packed: Any, encoder: Any, on_gpu: bool) -> Any:
        return choose_packing(packed, encoder, on_gpu=True)

    job.accelerated = on_device  # type: ignore[attr-defined]
    job.choose_packing = for_gpu  # type: ignore[attr-defined]
    loop.add_gradients = guarded("gradients", add_gradients)  # type: ignore[attr-defined]
    Optimizers.step = guarded("update", Optimizers.step)  # type: ignore[method-assign]
    outcomes: dict[str, Any] = {}
    for folder, may_wait in jobs.items():
        ran.clear()
        waiting[:] = may_wait
        try:
            job.run_job(TrainingJob.model_validate_json(Path(folder, "job.json").read_bytes()))
            outcomes[folder] = list(ran)
        except Exception:
            outcomes[folder] = traceback.format_exc()
    return outcomes


if __name__ == "__main__":
    install()
    sys.stdout.write(json.dumps(train_all(json.loads(sys.argv[1]))))
