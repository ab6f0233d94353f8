"""The sample wiki as a source of dumps, evaluation sets and training texts."""

from __future__ import annotations

from ease.pipelines.acquire.options import AcquireOptions
from ease.sample import SampleFiles, write_sample
from ease.wikimedia.languages import PAPER_LANGUAGES


def make_sample(options: AcquireOptions) -> SampleFiles:
    """Write the sample wiki, or reuse a complete one."""
    return write_sample(options.sample_folder, PAPER_LANGUAGES, options.sample)
