"""The device that computes."""

from __future__ import annotations

import torch


def best_device() -> torch.device:
    """Return the GPU where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
