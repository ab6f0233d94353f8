"""Compare the links that EASE extracts with those of wikipedia2vec's DumpDB, article by article.

Links inside templates, tables, references, galleries, files and categories are excluded on both sides, according to
mwparserfromhell's parse tree; all others are compared. Prints a Markdown table with one row per dump file: the number
of links of each reader, and how many of them the other reader finds with the same target.
"""

from __future__ import annotations

import bz2
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import mwparserfromhell
from mwparserfromhell.nodes import Tag, Template, Wikilink
from wikipedia2vec.dump_db import DumpDB
from wikipedia2vec.utils.utils import CATEGORY_ALIASES, MEDIA_ALIASES

from benchmarks.command_line import command_line_parser, real_wikipedia_dumps
from benchmarks.memory import in_new_process
from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo
from ease.wikimedia.dumps.pages import Page, iterate_pages
from ease.wikimedia.dumps.streams import DecompressedStream
from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.titles import CATEGORY, FILE, MEDIA, SiteInfo, normalize_title

_XML_LANGUAGE = re.compile(rb'xml:lang="[^"]*"')
_PAGE_END = b"</page>"
_EXCLUDED_TAGS = frozenset({"ref", "table", "gallery"})


@dataclass
class Agreement:
    """Link counts of both readers on one dump file, and the number of links that both find."""

    name: str
    articles: int = 0
    ours: int = 0
    theirs: int = 0
    common: int = 0
    excluded: int = 0
    only_ours: Counter[tuple[str, str]] = field(default_factory=Counter)
    only_theirs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, title: str, ours: Counter[str], theirs: Counter[str]) -> None:
        """Add the counts of an article's links, without the excluded ones."""
        self.articles += 1
        self.ours += ours.total()
        self.theirs += theirs.total()
        self.common += (ours & theirs).total()
        self.only_ours.update({(title, target): count for target, count in (ours - theirs).items()})
        self.only_theirs.update({(title, target): count for target, count in (theirs - ours).items()})

    @property
    def theirs_found(self) -> float:
        """Share of DumpDB's links that EASE finds (0 to 1)."""
        return self.common / self.theirs if self.theirs else 1.0

    @property
    def ours_found(self) -> float:
        """Share of EASE's links that DumpDB finds (0 to 1)."""
        return self.common / self.ours if self.ours else 1.0


def dump_of(path: Path) -> DumpFile:
    """Return a dump file, with its language taken from the file name."""
    return DumpFile(path, path.name.partition("wiki")[0].replace("_", "-"), None)


def articles_of(dump: DumpFile) -> Iterator[Page]:
    """Yield the pages of a dump that DumpDB treats as articles."""
    for page in iterate_pages(Shard(dump, 0, dump.path.stat().st_size)):
        if page.namespace == 0 and page.redirect is None:
            yield page


def compare(path: Path) -> Agreement:
    """Read a dump with both readers. Call it in a new process: a process can open only one DumpDB."""
    dump = dump_of(path)
    site = read_siteinfo(dump.path, dump.language)
    agreement = Agreement(path.name)
    with TemporaryDirectory() as folder:
        database = DumpDB(str(_build_dump_db(dump, Path(folder))))
        resolve = _redirects(database, site)
        for page in articles_of(dump):
            theirs = Counter(
                resolve(link.title)
                for paragraph in database.get_paragraphs(page.title)
                for link in paragraph.wiki_links
            )
            ours = Counter(resolve(link.target) for link in parse_wikitext(page.text, site).links)
            kept, excluded = _links_of_tree(page.text, site, resolve)
            agreement.excluded += excluded.total()
            agreement.add(
                page.title, _without_excluded(ours, kept, excluded), _without_excluded(theirs, kept, excluded)
            )
        database.close()
    return agreement


def _build_dump_db(dump: DumpFile, folder: Path) -> Path:
    """Build the DumpDB of a readable copy: complete bz2, with the language of the file name."""
    copy, database = folder / "pages.xml.bz2", folder / "pages.db"
    language = f'xml:lang="{dump.language}"'.encode()
    pending, begun = b"", False
    with bz2.open(copy, "wb") as file:
        for _, block in DecompressedStream(dump.path):
            pending += block
            end = pending.rfind(_PAGE_END) + len(_PAGE_END)
            if end >= len(_PAGE_END):
                whole = pending[:end]
                file.write(whole if begun else _XML_LANGUAGE.sub(language, whole, count=1))
                pending, begun = pending[end:], True
        file.write(b"\n</mediawiki>\n")
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


def compare_all(paths: list[Path]) -> list[Agreement]:
    """Compare each dump in a new process."""
    return [in_new_process(compare, path) for path in paths]


def markdown_table(agreements: list[Agreement]) -> str:
    """Return the agreements as a Markdown table."""
    lines = [
        "| dump | articles | our links | DumpDB's links | excluded | in both | DumpDB's in ours | ours in DumpDB's |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in agreements:
        counts = (row.articles, row.ours, row.theirs, row.excluded, row.common)
        cells = [row.name.partition("-pages")[0], *(f"{count:,}" for count in counts)]
        cells += [f"{row.theirs_found:.2%}", f"{row.ours_found:.2%}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse the arguments, compare the dumps and print the table."""
    parser = command_line_parser(__doc__)
    parser.add_argument(
        "dumps", nargs="*", type=Path, help="dump files; default: $EASE_TEST_DATA/dumps/wikipedia"
    )
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="also list N links that only one reader finds"
    )
    arguments = parser.parse_args()
    agreements = compare_all(arguments.dumps or real_wikipedia_dumps(parser))
    sys.stdout.write(markdown_table(agreements))
    for agreement in agreements if arguments.show else ():
        for side, links in (("EASE", agreement.only_ours), ("DumpDB", agreement.only_theirs)):
            sys.stdout.write(f"\n{agreement.name}: only in {side}\n")
            for (title, target), count in links.most_common(arguments.show):
                sys.stdout.write(f"  {count} x {target!r} on {title!r}\n")


if __name__ == "__main__":
    main()
