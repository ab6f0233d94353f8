"""Chunks of complete lines from a dump file, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ease.errors import EaseError
from ease.wikimedia.dumps.streams import DecompressedStream

_MAX_LINE_BYTES = 256 << 20


class LineChunks:
    """Chunks of complete lines.

    Attributes:
        head: The first bytes of the file that are not blank.
        last_byte: The last byte read that is not blank.
        next_line: Number of the line that follows the chunks read so far.
        rest: After the iteration, the text after the last line break.
        truncated: After the iteration, whether the file ends inside its compressed data.
    """

    def __init__(
        self,
        path: Path,
        chunk_bytes: int,
        threads: int = 1,
        progress: str | None = None,
        opening: tuple[re.Pattern[bytes], str] | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            path: The file; its suffix names the compression.
            chunk_bytes: Smallest size of a chunk, except for the last.
            threads: Threads that decompress a bz2 file.
            progress: Label of a progress bar; None shows none.
            opening: Pattern of the first bytes, and the name of the format for an error message.
        """
        self.head = self.last_byte = b""
        self.next_line = 1
        self.rest = b""
        self.truncated = False
        self._path = path
        self._chunk_bytes = chunk_bytes
        self._threads = threads
        self._progress = progress
        self._opening = opening

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line, chunk).

        Raises:
            EaseError: The file is missing, broken or of another format, or a line is too long.
        """
        stream = DecompressedStream(self._path, threads=self._threads)
        held: list[bytes] = []
        size = 0
        with tqdm(
            total=self._path.stat().st_size if self._progress else None,
            unit="B",
            unit_scale=True,
            desc=self._progress,
            disable=None if self._progress else True,
        ) as bar:
            for _, block in stream:
                bar.update(stream.position - bar.n)
                if not self.head.strip():
                    self.head = block[:4096]
                    if self._opening and not self._opening[0].match(self.head):
                        raise EaseError(
                            f"{self._path} is not {self._opening[1]}: it begins with {block[:40]!r}. Download it "
                            "again, or name another file."
                        )
                self.last_byte = block[-4096:].rstrip()[-1:] or self.last_byte
                held.append(block)
                size += len(block)
                if size < self._chunk_bytes:
                    continue
                if end := block.rfind(b"\n") + 1:
                    yield self._lines(b"".join((*held[:-1], memoryview(block)[:end])))
                    held, size = [block[end:]], len(block) - end
                elif size > _MAX_LINE_BYTES:
                    raise EaseError(
                        f"{self._path}, line {self.next_line} has more than {_MAX_LINE_BYTES:,} bytes: this is not a "
                        "dump. Download it again, or check the source's path."
                    )
        content = b"".join(held)
        if end := content.rfind(b"\n") + 1:
            yield self._lines(content[:end])
        self.rest = content[end:]
        self.truncated = stream.truncated

    def _lines(self, chunk: bytes) -> tuple[int, bytes]:
        first = self.next_line
        # Several times as fast as `bytes.count` for short lines.
        self.next_line += int(np.count_nonzero(np.frombuffer(chunk, np.uint8) == ord("\n")))
        return first, chunk
