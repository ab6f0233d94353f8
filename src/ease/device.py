"""The device that computes."""

from __future__ import annotations

from ease.lazy import torch


def best_device() -> torch.device:
    """Return the GPU where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def gpus_of(device: torch.device) -> list[torch.device]:
    """Return the devices whose random state `torch.random.fork_rng` restores beside the CPU's."""
    if device.type == "cuda":
        return [device]
    return []
