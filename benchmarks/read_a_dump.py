"""Read a complete dump with one reader; `ingestion_speed` starts this program once per measurement.

    python -m benchmarks.read_a_dump ease DUMP.xml.bz2 FOLDER --workers 1

Prints the peak memory of the process in MiB.
"""

from __future__ import annotations

import bz2
from pathlib import Path

from benchmarks.command_line import command_line_parser
from benchmarks.memory import peak_megabytes
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia

BLOCK = 1 << 20


def decompress(dump: Path, folder: Path, workers: int, shards: int) -> None:
    """Decompress bz2 and discard the result."""
    del folder, workers, shards
    with bz2.open(dump) as file:
        while file.read(BLOCK):
            pass


def read_with_ease(dump: Path, folder: Path, workers: int, shards: int) -> None:
    """Write sentences with their links, in at most `shards` shards, or shards of the default size if it is 0."""
    language = dump.name.partition("wiki")[0]
    options = IngestOptions(workers=workers)
    if shards:
        options = options.model_copy(update={"bytes_per_shard": -(-dump.stat().st_size // shards)})
    ingest_wikipedia(find_dumps(dump, [language]), options, folder)


WAYS = {"bz2": decompress, "ease": read_with_ease}


def main() -> None:
    """Parse the arguments, read the dump and print the peak memory."""
    parser = command_line_parser(__doc__)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("dump", type=Path)
    parser.add_argument("folder", type=Path, help="output folder")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--shards", type=int, default=0, help="number of shards; 0: shards of the default size"
    )
    given = parser.parse_args()
    WAYS[given.way](given.dump, given.folder, given.workers, given.shards)
    print(peak_megabytes())


if __name__ == "__main__":
    main()
