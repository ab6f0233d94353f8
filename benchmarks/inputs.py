"""Inputs of the benchmarks: encoders, and real data from the folder `EASE_TEST_DATA` if it is set, else generated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.evaluation.sets import locate_sets, located_parameters, scorable
from ease.evaluation.tasks import TaskParameters, build_tasks, package_tasks
from ease.wikimedia.languages import PAPER_LANGUAGES

SLICES = ("enwiki-shortened", "itwiki-2013-slice")
TASKS = ("sts", "stsb", "sickr", "sts17", "tatoeba", "qnli")
"""Tasks whose scoring is fast, so that encoding dominates the measured time."""
ENCODERS = {
    "small": RandomBertOptions(),
    "base": RandomBertOptions(layers=12, hidden_size=768, heads=12, intermediate_size=3072, vocabulary_size=30_522),
}
"""Encoders with random weights: that of the sample, and one of the size of BERT-base."""


def encoder_options(name: str) -> EncoderOptions:
    """Return the options of an encoder of `ENCODERS`, a folder or a Hugging Face name."""
    if name in ENCODERS:
        return EncoderOptions(random=ENCODERS[name])
    return EncoderOptions(name=name)


def made_sentences(count: int, seed: int = 0) -> list[str]:
    """Return sentences of Zipf-distributed words; lengths are 3 to 40 words, with a median of 17."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.lognormal(np.log(17), 0.5, count).astype(int), 3, 40)
    words = [f"w{word}" for word in random.zipf(1.5, lengths.sum()) % 5000]
    ends = np.cumsum(lengths)
    return [" ".join(words[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


def real_data() -> Path | None:
    """Return the folder of real dumps and evaluation sets, if there is one."""
    folder = os.environ.get("EASE_TEST_DATA")
    if not folder:
        return None
    return Path(folder)


def dump_slices(work: Path) -> list[Path]:
    """Return an English and an Italian dump: slices of real ones, or those of the sample, written below `work`."""
    data = real_data()
    if data:
        return [next((data / "dumps" / "wikipedia").glob(f"{name}-pages-articles*")) for name in SLICES]
    dumps = _sample(work).wikipedia
    return [next(dumps.glob(f"{language}wiki-*-pages-articles*.bz2")) for language in ("en", "it")]


def evaluation_tasks(work: Path) -> TaskParameters:
    """Return the parameters of the tasks whose data is available, or of the sample's tasks, written below `work`."""
    data = real_data()
    if data:
        paths = {name: data / "eval" / package_tasks()[name]["path"] for name in TASKS}
    else:
        sample = _sample(work)
        paths = {"sample_parallel": sample.parallel, "sample_graded": sample.graded}
    changed = package_tasks({name: {"path": str(path)} for name, path in paths.items()})
    tasks = {name: changed[name] for name in paths}
    located = locate_sets(build_tasks(tasks))
    parameters = located_parameters(tasks, located)
    return {name: parameters[name] for name in scorable(list(tasks), located)}


def _sample(work: Path) -> Any:
    from ease.sample.options import SampleOptions
    from ease.sample.wiki import write_sample  # needs ICU, which a machine with a GPU may lack

    return write_sample(work / "sample", PAPER_LANGUAGES, SampleOptions())
