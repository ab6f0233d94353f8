"""Fixtures of the pipelines' tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from ease.pipelines.options import AcquireOptions
from ease.sample.options import SampleOptions


@pytest.fixture
def small_sample(tmp_path: Path) -> AcquireOptions:
    sizes = {"territories": 60, "sentences_per_language": 50, "parallel_facts": 20, "graded_pairs": 12}
    folders = {"sample_folder": tmp_path / "sample", "download_folder": tmp_path / "dumps"}
    sample = SampleOptions(**sizes, graded_territories=6)
    return AcquireOptions(wikipedia="sample:", wikidata="sample:", sample=sample, **folders)
