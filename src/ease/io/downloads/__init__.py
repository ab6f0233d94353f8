"""Files fetched over HTTP: gone on with after a break, checked, retried with growing pauses, whole or not at all."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tqdm import tqdm

from ease.errors import EaseError
from ease.io.downloads.client import Client, DownloadOptions, NotFound, Stopped, Unreachable
from ease.io.downloads.files import RemoteFile, download, require_room

__all__ = [
    "Client",
    "DownloadOptions",
    "NotFound",
    "Outcome",
    "RemoteFile",
    "Stopped",
    "Unreachable",
    "download",
    "download_all",
    "require_room",
]

logger = logging.getLogger(__name__)


@dataclass
class Outcome:
    """What became of several files, by their paths."""

    fetched: list[Path] = field(default_factory=list)
    present: list[Path] = field(default_factory=list)
    failed: dict[Path, EaseError] = field(default_factory=dict)

    def require_all(self) -> None:
        """Insist that none failed.

        Raises:
            EaseError: Naming the faults of those that did.
        """
        if self.failed:
            faults = list(dict.fromkeys(str(fault) for fault in self.failed.values()))
            more = f" ({len(faults) - 3} more faults like these.)" if len(faults) > 3 else ""
            raise EaseError(" ".join(faults[:3]) + more)


def download_all(files: Sequence[RemoteFile], client: Client, purpose: str = "files") -> Outcome:
    """Fetch several files, some at once; those that fail do not stop the others.

    Args:
        files: Each path once.
        client: Its options say how many are fetched at once.
        purpose: What they are, for the progress bar.

    Raises:
        EaseError: If the disk has no room for all that are missing, as far as their sizes are known.
    """
    missing = [file for file in files if not file.path.exists()]
    if missing:
        require_room(missing[0].path.parent, sum(map(_left, missing)))
    outcome, dead_hosts = Outcome(), set[str]()

    def fetch(file: RemoteFile) -> bool:
        host = urlsplit(file.url).netloc
        if host in dead_hosts:
            raise Unreachable(f"{file.url} was not asked for, since {host} does not answer.")
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


def _left(file: RemoteFile) -> int:
    """Bytes of a file that are still to come, as far as its size is known."""
    there = file.aside.stat().st_size if file.aside.exists() else 0
    return max(0, (file.size or 0) - there)
