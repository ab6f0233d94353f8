"""Facts about the dumps that `acquire` located."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ease.entities.released import find_released
from ease.io.downloads import Client, RemoteFile, download
from ease.io.files import hash_contents
from ease.pipelines.acquire.options import AcquireOptions
from ease.wikimedia.dumps.mirrors import is_mirror


def has_items(dumps: Mapping[str, Any]) -> bool:
    """Return whether the dumps say which Wikidata item a page has: by a Wikidata dump or page_props tables."""
    return bool(dumps["wikidata"] or dumps["page_props"])


def locate_released(source: str, options: AcquireOptions) -> dict[str, Any]:
    """List the files of released pairs in place of dumps; the file at an https address is downloaded once.

    Raises:
        EaseError: If there is no such file, or it cannot be downloaded.
    """
    if is_mirror(source):
        folder = options.download_folder / "released" / hashlib.sha256(source.encode()).hexdigest()[:16]
        files = [folder / (Path(urlsplit(source).path).name or "pairs.json")]
        with Client(options.download) as client:
            download(RemoteFile(source, files[0]), client)
    else:
        files = find_released(source)
    nothing: dict[str, Any] = dict.fromkeys(("wikidata", "wikidata_source", "wikidata_form", "wikidata_date"))
    listed = [{"path": str(file), "sha256": hash_contents(file)} for file in files]
    return {"source": source, "wikipedia": [], "page_props": [], **nothing, "released": listed}


def released_files(dumps: Mapping[str, Any]) -> list[Path]:
    """Return the files of released pairs, if they were located in place of dumps."""
    return [Path(file["path"]).absolute() for file in dumps.get("released", ())]
