"""Make the initial entity embeddings."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from ease.entities.embeddings import EmbeddingOptions, embed_entities, name_entities
from ease.io.files import report_write_errors
from ease.lazy import Table
from ease.methods import UNTRAINED
from ease.pipelines.located_dumps import Dumps, usable_sitelinks
from ease.pipelines.setting import Setting
from ease.pipelines.tracked_training import write_encoder
from ease.pipelines.work import scratch_for_run
from ease.wikimedia.dumps.files import DumpFile

logger = logging.getLogger(__name__)


def make_entity_embeddings(
    entity_vocabulary: Table,
    sitelinks: Table,
    redirects: Table,
    dumps: Dumps,
    encoder: Path,
    options: EmbeddingOptions,
    setting: Setting,
    work: str,
) -> tuple[Path, dict[str, Any]]:
    """Make the initial entity embeddings, and report how many entities have a vector.

    Without a dump, as for released pairs, Wikipedia2Vec cannot be trained: `source: train` then gives random
    embeddings.

    Returns:
        A safetensors file with `embeddings`, (rows of the vocabulary, dimension of the encoder) float32; the report.
    """
    from ease.encoders.encoder import load_encoder

    if options.source == "train" and not dumps["wikipedia"]:
        logger.warning(
            "Released pairs have no dump to train Wikipedia2Vec on: the entity embeddings are random. "
            "`entity_embeddings.source=file` reads published vectors."
        )
        options = options.model_copy(update={"source": "random"})
    # The paper uses vectors of the English Wikipedia; a setting without English uses its first language.
    language = setting.languages[0]
    if "en" in setting.languages:
        language = "en"
    names = name_entities(entity_vocabulary, usable_sitelinks(dumps, sitelinks), redirects, language).to_pyarrow()
    total = int(entity_vocabulary.count().execute())
    tokens: Any = load_encoder(str(encoder))[0]
    dimension = tokens.get_embedding_dimension()
    files = [DumpFile.from_json(file) for file in dumps["wikipedia"]]
    folder = scratch_for_run(work, f"{setting.name}.entity_embeddings")
    table, with_vector = embed_entities(names, total, dimension, files, options, folder, language)
    file = folder / "entity_embeddings.safetensors"
    with report_write_errors(file):
        save_file({"embeddings": table}, file)
    share = with_vector / max(total, 1)
    return file, {"source": options.source, "found": with_vector, "total": total, "share": share}


def make_start_encoder(sentences: Table, setting: Setting, work: str) -> Path:
    """Build or load the encoder that every method of the setting starts from."""
    folder = scratch_for_run(work, f"{setting.name}.{UNTRAINED}") / "encoder"
    write_encoder(sentences, setting, folder)
    return folder
