"""The benchmark of large batches on a few pairs."""

from __future__ import annotations

import re

import pytest

from benchmarks import large_batches


@pytest.mark.long
@pytest.mark.slow
def test_gradient_caching_uses_less_memory(capfd: pytest.CaptureFixture[str]) -> None:
    large_batches.main(["--batch-sizes", "384", "--mini-batch-size", "16", "--steps", "1"])
    head, _, row = capfd.readouterr().out.splitlines()
    cells = [cell.strip() for cell in re.findall(r"[^|]+", row)]
    assert len(cells) == len(re.findall(r"[^|]+", head))
    batch, direct, blocks, ratio, *rates = (float(cell.replace(",", "")) for cell in cells)
    assert batch == 384
    assert ratio == pytest.approx(blocks / direct, abs=0.02)
    assert ratio < 0.7
    assert rates[2] == pytest.approx(rates[1] / rates[0], abs=0.02)
