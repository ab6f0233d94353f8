"""Train Wikipedia2Vec in a subprocess, and write its vectors as text."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.options import StrictModel
from ease.wikimedia.dumps.files import DumpFile

logger = logging.getLogger(__name__)

FAULT_STATUS = 3
"""Exit status of the worker if its standard output is the message of an error that a user can fix."""


class Wikipedia2VecOptions(StrictModel):
    """Parameters of Wikipedia2Vec; the defaults and all other parameters are the package's own, as in the paper."""

    min_word_count: int = Field(5, ge=1, description="rarer words are dropped")
    min_entity_count: int = Field(5, ge=1, description="entities with fewer links are dropped")
    min_paragraph_len: int = Field(5, ge=0, description="paragraphs of fewer words are dropped")
    word_neg_power: float = Field(
        0.75,
        ge=0,
        description="words are sampled as negatives by their frequency to this power; 0 avoids building a table of "
        "100 million entries, which takes longer than training on a small wiki",
    )
    pool_size: int = Field(1, ge=1, description="training processes; with more than one, results vary between runs")
    build_workers: int = Field(
        1, ge=1, description="processes that read the dump; their number does not change results"
    )
    seed: int = Field(0, ge=0, description="seed of initial vectors, negatives and the order of pages")


def train_wikipedia2vec(
    dumps: Sequence[DumpFile], language: str, dimension: int, options: Wikipedia2VecOptions, output: Path
) -> None:
    """Train on the dumps of one language, and write the entities' vectors as text: a header, then a line per entity.

    The package opens its database only once per process, has no seed and writes pickles. It therefore runs in a
    subprocess that sets the seed and writes only text outside its temporary folder. The paper trains on English.

    Raises:
        EaseError: If there is no dump of the language, its text is too short, or the output cannot be written.
    """
    language_dumps = [dump for dump in dumps if dump.language == language]
    if not language_dumps:
        languages = ", ".join(sorted({dump.language for dump in dumps})) or "none"
        raise EaseError(
            f"Wikipedia2Vec needs a dump of {language}, and the dumps are of: {languages}. Set `source` of the entity "
            "embeddings to `file` (published vectors) or `random`, or add the dump."
        )
    with report_write_errors(output.parent):
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as folder:
            vectors = Path(folder).absolute() / "vectors.txt"
            job_file = Path(folder) / "job.json"
            job = {
                "dumps": [dump.as_json() for dump in language_dumps],
                "dimension": dimension,
                "options": options.model_dump(),
                "vectors": str(vectors),
            }
            job_file.write_text(json.dumps(job), encoding="utf-8")
            paths = ", ".join(str(dump.path) for dump in language_dumps)
            logger.info("Training Wikipedia2Vec of %d dimensions on %s", dimension, paths)
            environment = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
                "PYTHONHASHSEED": "0",
                # Threads slow down products of single vectors.
                **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
            }
            command = [sys.executable, "-m", "ease.entities.wikipedia2vec_worker", str(job_file)]
            worker = subprocess.run(command, env=environment, check=False, stdout=subprocess.PIPE, encoding="utf-8")
            if worker.returncode == FAULT_STATUS:
                raise EaseError(worker.stdout)
            if worker.returncode:
                raise RuntimeError(
                    f"The training of Wikipedia2Vec ended with status {worker.returncode}; its messages are above."
                )
            # The folder lies beside the output, so that this is one atomic rename.
            os.replace(vectors, output)
