"""One way to read a dump from beginning to end, for `ingestion_speed`, which starts each in a process of its own.

Prints the most memory that the process has had, in MiB.

python -m benchmarks.read_a_dump ease DUMP.xml.bz2 FOLDER --workers 1
"""

from __future__ import annotations

import argparse
import bz2
from pathlib import Path

from benchmarks.memory import peak_megabytes
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.wikipedia.ingestion import IngestOptions, ingest_wikipedia

BLOCK = 1 << 20


def decompress(dump: Path, folder: Path, workers: int, shards: int) -> None:
    """Decode bz2 and do nothing with it."""
    del folder, workers, shards
    with bz2.open(dump) as file:
        while file.read(BLOCK):
            pass


def read_with_ease(dump: Path, folder: Path, workers: int, shards: int) -> None:
    """Write sentences with their links."""
    language = dump.name.partition("wiki")[0]
    options = IngestOptions(workers=workers)
    if shards:
        options = options.model_copy(update={"bytes_per_shard": -(-dump.stat().st_size // shards)})
    ingest_wikipedia(find_dumps(dump, [language]), options, folder)


WAYS = {"bz2": decompress, "ease": read_with_ease}


def main() -> None:
    """Read once."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("dump", type=Path)
    parser.add_argument("folder", type=Path, help="to write into")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--shards", type=int, default=0, help="to cut the dump into; 0: by the default size")
    given = parser.parse_args()
    WAYS[given.way](given.dump, given.folder, given.workers, given.shards)
    print(peak_megabytes())


if __name__ == "__main__":
    main()
