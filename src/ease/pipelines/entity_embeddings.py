"""Wikipedia2Vec vectors for the entity vocabulary: trained here, loaded, or random."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from kedro.pipeline import Pipeline, node, pipeline
from safetensors.numpy import save_file

from ease.entities.embeddings import EmbeddingOptions, embed_entities, name_entities
from ease.io.files import report_write_errors
from ease.io.lazy import ibis
from ease.io.names import UNTRAINED
from ease.pipelines.acquire.nodes import has_items, released_files
from ease.pipelines.setting import Setting
from ease.pipelines.work import scratch_for_run
from ease.wikimedia.dumps.files import DumpFile

logger = logging.getLogger(__name__)


def make_entity_embeddings(
    vocabulary: ibis.Table,
    sitelinks: ibis.Table,
    redirects: ibis.Table,
    dumps: dict[str, Any],
    encoder: Path,
    options: EmbeddingOptions,
    setting: Setting,
    work: str,
) -> tuple[Path, dict[str, Any]]:
    """Make the initial entity embeddings, and report how many entities have a vector.

    Released pairs have no dump to train Wikipedia2Vec on: `source: train` then means random embeddings.

    Returns:
        A safetensors file with `embeddings`, (rows of the vocabulary, dimension of the encoder) float32; the report.
    """
    from ease.encoders.encoder import load_encoder

    if options.source == "train" and released_files(dumps):
        logger.warning(
            "Released pairs have no dump to train Wikipedia2Vec on: the entity embeddings are random. "
            "`entity_embeddings.source=file` reads published vectors."
        )
        options = options.model_copy(update={"source": "random"})
    # The paper uses vectors of the English Wikipedia; a setting without English uses its first language.
    language = "en" if "en" in setting.languages else setting.languages[0]
    links = sitelinks if has_items(dumps) else None
    names = name_entities(vocabulary, links, redirects, language).to_pyarrow()
    total = int(vocabulary.count().execute())
    # The size of token embeddings, to which the entity embeddings are fitted.
    first: Any = load_encoder(str(encoder))[0]
    dimension = first.get_embedding_dimension()
    files = [DumpFile.from_json(file) for file in dumps["wikipedia"]]
    folder = scratch_for_run(work, f"{setting.name}.entity_embeddings")
    table, coverage = embed_entities(names, total, dimension, files, options, folder, language)
    file = folder / "entity_embeddings.safetensors"
    with report_write_errors(file):
        save_file({"embeddings": table}, file)
    report = {"source": options.source, "found": coverage.found, "total": coverage.total}
    return file, {**report, "share": coverage.share, "missing": list(coverage.missing)}


TABLES = ("entity_vocabulary", "sitelinks", "redirects", "dumps", "untrained_encoder")


def create_pipeline(setting: str, *, own_options: bool = False) -> Pipeline:
    """Create `entity_embeddings` for one setting, by its own options or those of all settings."""
    options = "params:entity_embeddings"
    given = [*TABLES, options, "params:setting", "params:work"]
    made = ["entity_embeddings", "embedding_coverage"]
    return pipeline(
        [node(make_entity_embeddings, given, made, name="make_entity_embeddings")],
        namespace=setting,
        inputs={"untrained_encoder": f"{setting}.{UNTRAINED}.encoder"},
        parameters={"params:work"} if own_options else {options, "params:work"},
        tags="entity_embeddings",
    )
