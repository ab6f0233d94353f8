"""Compare the links that EASE extracts with those of wikipedia2vec's DumpDB, article by article.

Links inside templates, tables, references, galleries, files and categories are excluded on both sides, according to
mwparserfromhell's parse tree; all others are compared.
"""

from __future__ import annotations

import bz2
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import mwparserfromhell
from mwparserfromhell.nodes import Tag, Template, Wikilink
from wikipedia2vec.dump_db import DumpDB
from wikipedia2vec.utils.utils import CATEGORY_ALIASES, MEDIA_ALIASES

from benchmarks.common import in_new_process
from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo
from ease.wikimedia.dumps.pages import iterate_pages
from ease.wikimedia.dumps.streams import DecompressedStream
from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.titles import CATEGORY, FILE, MEDIA, SiteInfo, normalize_title

_XML_LANGUAGE = re.compile(rb'xml:lang="[^"]*"')
_PAGE_END = b"</page>"
_EXCLUDED_TAGS = frozenset({"ref", "table", "gallery"})


class Agreement(NamedTuple):
    """Numbers of the links of both readers on one dump file, and of the links that both find."""

    articles: int
    ours: int
    theirs: int
    common: int

    @property
    def theirs_found(self) -> float:
        """Share of DumpDB's links that EASE finds (0 to 1)."""
        return self.common / self.theirs

    @property
    def ours_found(self) -> float:
        """Share of EASE's links that DumpDB finds (0 to 1)."""
        return self.common / self.ours


def compare_all(paths: list[Path]) -> list[Agreement]:
    """Compare each dump in a new process, since a process can open only one DumpDB."""
    return [in_new_process(compare, path) for path in paths]


def compare(path: Path) -> Agreement:
    """Read the articles of a dump, whose language is that of the file's name, with both readers."""
    dump = DumpFile(path, path.name.partition("wiki")[0].replace("_", "-"), None)
    site = read_siteinfo(dump.path, dump.language)
    articles, counts = 0, Counter[str]()
    with TemporaryDirectory() as folder:
        database = DumpDB(str(_build_dump_db(dump, Path(folder))))
        resolve = _redirects(database, site)
        for page in iterate_pages(Shard(dump, 0, path.stat().st_size)):
            if page.namespace or page.redirect is not None:
                continue
            paragraphs = database.get_paragraphs(page.title)
            links = Counter(resolve(link.title) for paragraph in paragraphs for link in paragraph.wiki_links)
            own = Counter(resolve(link.target) for link in parse_wikitext(page.text, site).links)
            kept, excluded = _links_of_tree(page.text, site, resolve)
            ours, theirs = (_without_excluded(found, kept, excluded) for found in (own, links))
            articles += 1
            counts.update(ours=ours.total(), theirs=theirs.total(), common=(ours & theirs).total())
        database.close()
    return Agreement(articles, counts["ours"], counts["theirs"], counts["common"])


def _build_dump_db(dump: DumpFile, folder: Path) -> Path:
    """Build the DumpDB of a readable copy: complete bz2, with the language of the file name."""
    copy, database = folder / "pages.xml.bz2", folder / "pages.db"
    content = b"".join(block for _, block in DecompressedStream(dump.path))
    content = _XML_LANGUAGE.sub(f'xml:lang="{dump.language}"'.encode(), content, count=1)
    copy.write_bytes(bz2.compress(content[: content.rindex(_PAGE_END)] + _PAGE_END + b"\n</mediawiki>\n"))
    program = Path(sys.executable).with_name("wikipedia2vec")
    subprocess.run(
        [program, "build-dump-db", copy, database, "--pool-size", "1"], check=True, capture_output=True
    )
    return database


def _redirects(database: DumpDB, site: SiteInfo) -> Callable[[str], str]:
    """Return a function that normalises a link target and follows redirects within the dump."""
    redirects = {normalize_title(old, site): normalize_title(new, site) for old, new in database.redirects()}

    def resolve(title: str) -> str:
        title, seen = normalize_title(title, site), set()
        while title in redirects and title not in seen:
            seen.add(title)
            title = redirects[title]
        return title

    return resolve


def _links_of_tree(
    source: str, site: SiteInfo, resolve: Callable[[str], str]
) -> tuple[Counter[str], Counter[str]]:
    """Count the targets of mwparserfromhell's links: compared ones, and those excluded on both sides.

    As in DumpDB, bold and italic markup is removed before parsing.
    """
    names = {*MEDIA_ALIASES.get(site.language, ()), *CATEGORY_ALIASES.get(site.language, ())}
    names |= {name for name, number in site.namespaces.items() if number in (MEDIA, FILE, CATEGORY)}
    alternatives = "|".join(re.escape(name).replace("\\ ", "[ _]") for name in sorted(names))
    unseen = re.compile(rf"(?:{alternatives})\s*:", re.IGNORECASE)
    kept: Counter[str] = Counter()
    excluded: Counter[str] = Counter()
    pending = [(mwparserfromhell.parse(re.sub("'''*", "", source)), False)]
    while pending:
        code, inside = pending.pop()
        for node in code.nodes:
            skipped = inside
            if isinstance(node, Template):
                skipped = True
            elif isinstance(node, Tag):
                skipped = skipped or str(node.tag).lower() in _EXCLUDED_TAGS
            elif isinstance(node, Wikilink):
                skipped = skipped or unseen.match(str(node.title).strip()) is not None
                (excluded if skipped else kept)[resolve(node.title.strip_code().strip())] += 1
            pending += [(child, skipped) for child in node.__children__() if child is not None]
    return kept, excluded


def _without_excluded(links: Counter[str], kept: Counter[str], excluded: Counter[str]) -> Counter[str]:
    """Remove surplus links, those beyond the `kept` count of a target, up to its `excluded` count."""
    return Counter(
        {
            target: count - min(max(count - kept[target], 0), excluded[target])
            for target, count in links.items()
        }
    )
