"""Wikipedia2Vec, trained by its package in a process of its own, kept as text."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ease.errors import EaseError
from ease.wikimedia.dumps.files import DumpFile

logger = logging.getLogger(__name__)

FAULT_FILE = "fault.txt"


class Wikipedia2VecOptions(BaseModel):
    """How Wikipedia2Vec is trained; the defaults are the package's own, as in the paper."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min_word_count: int = Field(5, ge=1, description="Rarer words are left out.")
    min_entity_count: int = Field(5, ge=1, description="Entities with fewer links are left out.")
    min_paragraph_len: int = Field(5, ge=0, description="Paragraphs of fewer words are left out.")
    lowercase: bool = Field(True, description="Words are lower-cased.")
    category: bool = Field(False, description="Categories are entities too.")
    disambi: bool = Field(False, description="Disambiguation pages are entities too.")
    tokenizer: Literal["regexp", "icu"] = Field("icu", description="What cuts text into words.")
    link_graph: bool = Field(True, description="Learn from the graph of links between pages.")
    link_mentions: bool = Field(True, description="Turn names of entities in the text into links first.")
    min_link_prob: float = Field(0.2, ge=0, le=1, description="A name is linked this often, at least.")
    min_prior_prob: float = Field(
        0.01, ge=0, le=1, description="A name leads to the entity this often, at least."
    )
    max_mention_len: int = Field(20, ge=1, description="Characters of a name, at most.")
    window: int = Field(5, ge=1, description="Words to either side that are predicted.")
    iteration: int = Field(5, ge=1, description="Passes over the pages.")
    negative: int = Field(5, ge=1, description="Negative samples.")
    entities_per_page: int = Field(10, ge=1, description="Entities drawn for a page from the link graph.")
    init_alpha: float = Field(0.025, gt=0, description="Learning rate at the start.")
    min_alpha: float = Field(0.0001, ge=0, description="Learning rate at the end.")
    sample: float = Field(1e-4, ge=0, description="Threshold from which frequent words are thinned out.")
    word_neg_power: float = Field(
        0.75,
        ge=0,
        description="Words are drawn as negatives by frequency to this power. 0 spares the building of a "
        "table of 100 million entries, which takes longer than the training on a small wiki.",
    )
    entity_neg_power: float = Field(0, ge=0, description="The same for entities.")
    pool_size: int = Field(1, ge=1, description="Processes that train; with more than one, runs differ.")
    build_workers: int = Field(
        1, ge=1, description="Processes that read the dump; their number changes nothing."
    )
    seed: int = Field(0, ge=0, description="Chooses initial vectors, negatives and the order of pages.")


def train_wikipedia2vec(
    dumps: Sequence[DumpFile], language: str, dimension: int, options: Wikipedia2VecOptions, output: Path
) -> None:
    """Train on one language's dump and write its entities' vectors as text: a header, then a line an entity.

    The package opens its database once in a process, takes no seed and keeps its models as pickles; so it
    runs in a process of its own, which sets the seed and writes nothing but text outside its temporary
    folder, beside the output.

    Args:
        dumps: Those of any languages.
        language: Whose dumps to train on; the paper's vectors are of the English Wikipedia.

    Raises:
        EaseError: There is no dump of that language, or too little text in it.
    """
    chosen = [dump for dump in dumps if dump.language == language]
    if not chosen:
        languages = ", ".join(sorted({dump.language for dump in dumps})) or "none"
        raise EaseError(
            f"Wikipedia2Vec is to be trained on {language}, and the dumps are of: {languages}. Set `source` "
            "of the entity embeddings to `file` (published vectors) or `random`, or add that dump."
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as folder:
        vectors = Path(folder) / "vectors.txt"
        _run_worker(chosen, dimension, options, vectors)
        os.replace(vectors, output)


def _run_worker(
    dumps: Sequence[DumpFile], dimension: int, options: Wikipedia2VecOptions, vectors: Path
) -> None:
    job = {
        "dumps": [dump.as_json() for dump in dumps],
        "dimension": dimension,
        "options": options.model_dump(),
        "vectors": str(vectors.absolute()),
    }
    job_file = vectors.with_name("job.json")
    job_file.write_text(json.dumps(job), encoding="utf-8")
    logger.info(
        "Training Wikipedia2Vec of %d dimensions on %s",
        dimension,
        ", ".join(str(dump.path) for dump in dumps),
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONHASHSEED": "0",
        # Its products are of single vectors: threads only slow them down.
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "ease.entities.wikipedia2vec_worker", str(job_file)],
        env=environment,
        check=False,
    )
    fault = vectors.with_name(FAULT_FILE)
    if fault.exists():
        raise EaseError(fault.read_text(encoding="utf-8"))
    if done.returncode:
        raise RuntimeError(
            f"The training of Wikipedia2Vec ended with status {done.returncode}; its messages are above."
        )


def read_job(job_file: Path) -> tuple[list[DumpFile], int, Wikipedia2VecOptions, Path]:
    """Dumps, dimension, options and output of a job as `train_wikipedia2vec` hands it to the worker."""
    job = json.loads(job_file.read_text(encoding="utf-8"))
    dumps = [DumpFile.from_json(dump) for dump in job["dumps"]]
    return dumps, job["dimension"], Wikipedia2VecOptions(**job["options"]), Path(job["vectors"])
