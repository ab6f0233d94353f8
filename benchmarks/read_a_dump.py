"""Read a complete dump with one reader; `ingestion_speed` starts this program once per measurement.

    python -m benchmarks.read_a_dump ease DUMP.xml.bz2 FOLDER --workers 1

Prints the peak memory of the process in MiB.
"""

from __future__ import annotations

import bz2
from pathlib import Path

from benchmarks.common import command_line_parser, peak_megabytes
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia


def main() -> None:
    """Decompress bz2 and discard the result, or write sentences with their links."""
    parser = command_line_parser(__doc__)
    parser.add_argument("way", choices=["bz2", "ease"])
    parser.add_argument("dump", type=Path)
    parser.add_argument("folder", type=Path, help="output folder")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--shards", type=int, help="number of shards; default: shards of the default size")
    settings = parser.parse_args()
    if settings.way == "bz2":
        with bz2.open(settings.dump) as file:
            while file.read(1 << 20):
                pass
    else:
        options = IngestOptions(workers=settings.workers)
        if settings.shards:
            size = -(-settings.dump.stat().st_size // settings.shards)
            options = options.model_copy(update={"bytes_per_shard": size})
        ingest_wikipedia(find_dumps(settings.dump, [settings.dump.name.partition("wiki")[0]]), options, settings.folder)
    print(peak_megabytes())


if __name__ == "__main__":
    main()
