"""Record a digest of the code behind each kept result: `python -m tests.result_versions`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ease.encoders.encoding import encode_with
from ease.entities.released import ingest_released
from ease.io import result_versions
from ease.io.code_digest import code_digest
from ease.sample import write_sample, write_sample_news
from ease.texts.bitext.mining import mine_language_pair
from ease.training.job import run_job
from ease.wikimedia.dumps.files import split_into_shards
from ease.wikimedia.wikidata import ingest_page_props, ingest_truthy, ingest_wikidata
from ease.wikimedia.wikipedia import ingest_wikipedia

RECORD = Path(__file__).with_suffix(".json")
COMMAND = "python -m tests.result_versions"
CODE: dict[str, tuple[Callable[..., Any], ...]] = {
    "WIKIPEDIA_PARTS": (split_into_shards, ingest_wikipedia),
    "WIKIDATA_PARTS": (ingest_wikidata,),
    "TRUTHY_PARTS": (ingest_truthy,),
    "PAGE_PROPS_PARTS": (ingest_page_props,),
    "RELEASED_PARTS": (ingest_released,),
    "SAMPLE_WIKI": (write_sample,),
    "SAMPLE_NEWS": (write_sample_news,),
    "TRAINING": (run_job,),
    "BITEXT": (mine_language_pair,),
    "EMBEDDINGS": (encode_with,),
}
"""The functions that produce each kept result."""

Record = dict[str, dict[str, Any]]


def found() -> Record:
    """Return the versions and digests of the current code."""
    return {
        name: {"version": getattr(result_versions, name), "digest": code_digest(*functions)}
        for name, functions in CODE.items()
    }


def recorded() -> Record:
    """Return the recorded versions and digests."""
    record: Record = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


if __name__ == "__main__":
    RECORD.write_text(json.dumps(found(), indent=2) + "\n", encoding="utf-8")
