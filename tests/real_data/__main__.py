"""Download the real data that tests read: `python -m tests.real_data FOLDER`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ease.errors import EaseError
from ease.io.downloads import Client, DownloadOptions, RemoteFile, download_all
from ease.pipelines.acquire_evaluation.fetching import fetch_evaluation_sets
from ease.pipelines.acquire_evaluation.published_files import Source, read_sources

SOURCES = Path(__file__).with_name("sources.yml")


def fetch_test_data(folder: Path, listed: Any, known: Mapping[str, Source], options: DownloadOptions) -> list[str]:
    """Download what is missing in a folder, and compare what is there with its checksums.

    Args:
        folder: The future `EASE_TEST_DATA`.
        listed: The content of `sources.yml`: `files`, `archives` and `tasks`.
        known: Sources of evaluation sets by task.
        options: How to ask servers.

    Returns:
        What failed, one message per file.
    """
    files = [
        RemoteFile(source["url"], folder / path, {"sha256": source["sha256"]})
        for path, source in listed["files"].items()
    ]
    for file in files:
        file.path.parent.mkdir(parents=True, exist_ok=True)
    failed = []
    with Client(options) as client:
        try:
            download_all(files, client, "dumps and training texts")
        except EaseError as error:
            failed.append(str(error))
    archives = {"archives": Source(licence="see sources.yml", archives=listed["archives"])}
    sets = {
        **fetch_evaluation_sets(["archives"], archives, folder, options),
        **fetch_evaluation_sets(listed["tasks"], known, folder / "eval", options),
    }
    return failed + [message for found in sets.values() for message in found.values()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status is 1 if a file could not be downloaded."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_data", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to put the data; name it in EASE_TEST_DATA")
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    listed = yaml.safe_load(SOURCES.read_text(encoding="utf-8"))
    try:
        failed = fetch_test_data(folder, listed, read_sources(), DownloadOptions())
    except EaseError as error:
        failed = [str(error)]
    for message in failed:
        print(message, file=sys.stderr)  # noqa: T201
    print(f"{len(failed)} files failed. export EASE_TEST_DATA={folder.resolve()}")  # noqa: T201
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
