"""The benchmark of large batches on a few pairs."""

from __future__ import annotations

import re
import resource
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import large_batches
from benchmarks.inputs import made_sentences
from tests.project import ROOT


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


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process's memory in this way")
def test_a_batch_that_does_not_fit_has_no_figures() -> None:
    command = [sys.executable, "-m", "benchmarks.large_batches", "--no-direct", "--steps", "1"]
    done = subprocess.run(
        [*command, "--batch-sizes", "64", "16000", "--mini-batch-size", "16000"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)),
    )
    fits, does_not = (re.findall(r"[^| ]+", row) for row in done.stdout.splitlines()[2:])
    assert float(fits[2]) > 0
    assert does_not == ["16,000", "–", "nan", "–", "–", "nan", "–"]


def test_generated_sentences_are_reproducible_and_vary_in_length() -> None:
    sentences = made_sentences(2000)
    assert sentences == made_sentences(2000)
    lengths = [len(sentence.split()) for sentence in sentences]
    assert (min(lengths), max(lengths)) == (3, 40)
    assert np.median(lengths) == pytest.approx(17, abs=1)
