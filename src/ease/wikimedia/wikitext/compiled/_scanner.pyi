import re
from collections.abc import Sequence

from ease.wikimedia.wikitext.titles import SiteInfo

WIKIPEDIA_PARTS: int

def cut_templates(text: str) -> str: ...
def strip_quotes(text: str) -> str: ...
def normalize_gaps(text: str) -> str: ...
def join_blocks(text: str) -> str: ...
def skip_plain_links(
    text: str,
    position: int,
    heading_end: int,
    pieces: list[str],
    targets: list[str],
    site: SiteInfo,
    trail: re.Pattern[str],
) -> tuple[int, int]: ...
def cut_sentences(text: str, boundaries: Sequence[int]) -> tuple[list[int], list[str]]: ...
def sentences_of_links(
    starts: list[int], ends: list[int], link_starts: list[int], link_ends: list[int]
) -> tuple[list[int], list[int]]: ...
