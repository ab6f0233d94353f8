"""Options of reading dumps."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ease.io.models import StrictModel
from ease.wikimedia.dumps.pages import DEFAULT_MAX_PAGE_BYTES, DEFAULT_MAX_PAGE_SECONDS
from ease.wikimedia.wikitext.sentences import SplitterEngine


class IngestOptions(StrictModel):
    """How dumps are read."""

    splitter: SplitterEngine = Field(
        "polyglot",
        description="sentence splitter; icu finds the same boundaries without polyglot, which is under GPLv3",
    )
    truncated: Literal["keep", "drop"] = Field(
        "keep", description="whether to keep the readable beginning of a truncated file, or to drop the file"
    )
    max_page_bytes: int = Field(
        DEFAULT_MAX_PAGE_BYTES, ge=1000, description="pages with more bytes of XML are skipped"
    )
    max_page_seconds: float = Field(
        DEFAULT_MAX_PAGE_SECONDS,
        gt=0,
        description="pages that take more seconds of CPU time to parse are skipped",
    )
    bytes_per_shard: int = Field(32 << 20, ge=1, description="bytes of a dump file in one shard")
    workers: int | None = Field(None, ge=1, description="processes that parse; null uses one per core")
