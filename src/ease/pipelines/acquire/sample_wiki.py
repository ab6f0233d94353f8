"""The sample wiki as a source of dumps, evaluation sets and training texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ease.errors import EaseError
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.sample import SampleFiles, write_sample
from ease.sample.world import SAMPLE_LANGUAGES


def make_sample(options: AcquireOptions) -> SampleFiles:
    """Write the sample wiki, or reuse a complete one."""
    return write_sample(options.sample_folder, SAMPLE_LANGUAGES, options.sample)


def sample_file(address: str, names: Sequence[str], kind: str, options: AcquireOptions) -> Path:
    """Return the sample's file that an address such as `sample:nli` names.

    Args:
        address: Starts with `sample:`.
        names: The sample's files of this kind.
        kind: What the files are, for the message.
        options: The folder and size of the sample.

    Raises:
        EaseError: If the sample has no such file.
    """
    name = address.removeprefix(SAMPLE)
    if name not in names:
        known = ", ".join(f"{SAMPLE}{known}" for known in names)
        raise EaseError(f"`path` {address}: the sample has the {kind} {known}.")
    return Path(getattr(make_sample(options), name))
