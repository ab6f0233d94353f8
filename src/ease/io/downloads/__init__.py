"""Downloads over HTTP: resumed, checked, retried with exponential back-off, written atomically.

Pooch would cover the evaluation sets (checksums, atomic files), but not the dumps: it neither resumes with `If-Range`
nor honours `Retry-After`. As the dumps need this client anyway, the evaluation sets use it too.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tqdm import tqdm

from ease.errors import EaseError
from ease.io.downloads.client import (
    Client,
    ConnectionOptions,
    DownloadOptions,
    NotFound,
    Stopped,
    Unreachable,
)
from ease.io.downloads.files import RemoteFile, download
from ease.io.files import check_free_space

__all__ = [
    "Client",
    "ConnectionOptions",
    "DownloadOptions",
    "NotFound",
    "Outcome",
    "RemoteFile",
    "Stopped",
    "Unreachable",
    "download",
    "download_all",
]

logger = logging.getLogger(__name__)


@dataclass
class Outcome:
    """Downloaded, present and failed files, by their paths."""

    fetched: list[Path] = field(default_factory=list)
    present: list[Path] = field(default_factory=list)
    failed: dict[Path, EaseError] = field(default_factory=dict)

    def require_all(self) -> None:
        """Raise an error if a file failed.

        Raises:
            EaseError: With the errors of the first three files.
        """
        if self.failed:
            faults = list(dict.fromkeys(str(fault) for fault in self.failed.values()))
            more = f" ({len(faults) - 3} more errors like these.)" if len(faults) > 3 else ""
            raise EaseError(" ".join(faults[:3]) + more)


def download_all(files: Sequence[RemoteFile], client: Client, purpose: str = "files") -> Outcome:
    """Download several files in parallel, as many as the client's options allow; a failure does not stop the others.

    Raises:
        EaseError: If the disk has less space than the missing files of known size need.
    """
    missing = [file for file in files if not file.path.exists()]
    if missing:
        received = (file.partial.stat().st_size if file.partial.exists() else 0 for file in missing)
        needed = (max(0, (file.size or 0) - size) for file, size in zip(missing, received, strict=True))
        check_free_space(missing[0].path.parent, sum(needed))
    outcome, dead_hosts = Outcome(), set[str]()

    def fetch(file: RemoteFile) -> bool:
        host = urlsplit(file.url).netloc
        if host in dead_hosts:
            raise Unreachable(f"{file.url} was not requested, as {host} does not answer.")
        try:
            return download(file, client)
        except Unreachable:
            dead_hosts.add(host)
            raise

    with ThreadPoolExecutor(client.options.connections) as pool:
        futures = {pool.submit(fetch, file): file.path for file in files}
        try:
            progress = tqdm(
                as_completed(futures), total=len(futures), desc=f"Fetching {purpose}", disable=None
            )
            for future in progress:
                try:
                    (outcome.fetched if future.result() else outcome.present).append(futures[future])
                except EaseError as error:
                    outcome.failed[futures[future]] = error
        except BaseException:
            client.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return outcome
