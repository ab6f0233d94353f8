"""Command-line parts that the benchmarks share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def command_line_parser(documentation: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help starts with a module's docstring, with its line breaks."""
    return argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def real_wikipedia_dumps(parser: argparse.ArgumentParser) -> list[Path]:
    """Return the dump files below `EASE_TEST_DATA`; exit with a usage error if the variable is not set."""
    if "EASE_TEST_DATA" not in os.environ:
        parser.error(
            "no dump files given and EASE_TEST_DATA is not set: name dump files or set EASE_TEST_DATA"
        )
    return sorted((Path(os.environ["EASE_TEST_DATA"]) / "dumps" / "wikipedia").glob("*-pages-articles*"))
