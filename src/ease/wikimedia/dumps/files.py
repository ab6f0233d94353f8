"""Dump files: find them, recognise their kind, read their `<siteinfo>`, and split them into shards."""

from __future__ import annotations

import glob
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self

from lxml import etree

from ease.errors import EaseError
from ease.io.addresses import address_of, files_below, files_matching, is_remote, kind_of, located
from ease.wikimedia.dumps.streams import (
    FASTEST_FIRST,
    FROM_THE_BEGINNING,
    Compression,
    DecompressedStream,
    compression_of,
)
from ease.wikimedia.languages import Language, check_codes, check_languages
from ease.wikimedia.wikitext.titles import SiteInfo

logger = logging.getLogger(__name__)

_WIKI = r"(?P<wiki>[a-z][a-z0-9_]*?)(?P<project>wiki|wikinews)-"
_PACKED = r"(?:\.(?:bz2|gz|zst))?"
_ARTICLES_NAME = re.compile(
    rf"{_WIKI}(?:(?P<edition>.+?)-)?pages-articles(?P<multistream>-multistream)?(?P<part>\d*)\.xml"
    rf"(?:-p(?P<first>\d+)p(?P<last>\d+))?(?P<rest>-[\w-]+)?{_PACKED}"
)
"""Names of an articles dump: enwiki-20240101-pages-articles-multistream1.xml-p1p41242.bz2."""
CONTENT_NAME = re.compile(
    rf"{_WIKI}(?P<date>\d{{4}}-\d\d-\d\d)-p(?P<first>\d+)(?:p(?P<last>\d+)|r(?P<revision>\d+)r\d+)\.xml{_PACKED}"
)
"""Names of a content export: enwiki-2026-11-01-p10p1147431.xml.bz2; of a large page alone: -p5r1r900.xml.bz2."""
CHECKSUM_LIST = "SHA256SUMS"
"""Lists the files of a content export."""
_CHECKSUM = re.compile(r"^\\?([0-9a-fA-F]{32,64}) [ *](?:.*/)?([^/\n\r]+)", re.MULTILINE)
_DUMP = re.compile(rf".*\.xml[^.]*{_PACKED}")
_OTHER = re.compile(r".*-(stub-|pages-(meta|logging)|abstract|siteinfo).*|.*-rss\.xml")
"""Other XML files that Wikimedia publishes beside the dumps."""
_NO_DATA = re.compile(r"\..*|.*\.(part|md5|sha\d*|txt|html?)|.*index.*|_SUCCESS|.*SUMS")
"""Hidden and partial files, checksums and indexes, which a folder or glob may have besides its dumps."""
_MIN_GAP = 0.1
"""A gap between two files below this share of the shorter range is taken for deleted pages."""
_MAX_FIRST_PAGE = 1000
"""Largest page id that the first file of a dump may begin with; a larger one means that a file is missing."""
_MAX_GZIP_SHARDS = 16
"""Each shard of a .gz or .zst decompresses the file from its beginning; 16 shards cost about a fifth of one parse."""
_MAX_HEADER_BYTES, _PIECE = 16 << 20, 16 << 10
_NUMBER = re.compile(r"\s*(-?[0-9]{1,19})\s*")

Project = Literal["wiki", "wikinews"]
WikidataForm = Literal["json", "truthy"]
_WIKIDATA_NAMES: dict[WikidataForm, tuple[re.Pattern[str], str]] = {
    "json": (
        re.compile(r"(?!.*lexemes)(.*wikidata.*|.*-all)\.json(\.bz2|\.gz|\.zst)?"),
        "*wikidata*.json or *-all.json (.bz2, .gz, .zst)",
    ),
    "truthy": (re.compile(r".*truthy.*\.nt(\.bz2|\.gz|\.zst)?"), "*truthy*.nt (.bz2, .gz, .zst)"),
}
"""Names of Wikidata's files, and the same in words."""


@dataclass(frozen=True)
class DumpFile:
    """A dump file of one wiki; the date (YYYYMMDD) is None if neither the file's name nor a folder has one."""

    path: Path
    language: str
    dump_date: str | None

    @property
    def compression(self) -> Compression:
        """How the file is compressed."""
        return compression_of(self.path)

    def as_json(self) -> dict[str, str | None]:
        """Return the file as a JSON object, from which `from_json` restores it."""
        return {"language": self.language, "path": address_of(self.path), "dump_date": self.dump_date}

    @classmethod
    def from_json(cls, listed: Mapping[str, Any]) -> Self:
        """Restore a file; its path is absolute, since a Spark worker runs in another folder."""
        return cls(located(listed["path"]).absolute(), listed["language"], listed["dump_date"])


@dataclass(frozen=True)
class Shard:
    """Byte range of a dump file that owns the pages starting in it; in bz2, in the blocks starting in it."""

    dump: DumpFile
    start: int
    end: int


def find_dumps(
    source: str | Path | Sequence[Path], languages: Sequence[str], project: Project = "wiki"
) -> list[DumpFile]:
    """Find the dump files of some languages' wikis in files, or in a folder (searched recursively), a glob or a file.

    Articles dumps and content exports are recognised by their names, files with other names by their header. Of each
    language, the newest complete date is used and logged, and only one form: a single file rather than parts,
    multistream rather than plain. Dumps without a date (`latest`, slices) are all used.

    Raises EaseError if the source is missing, lacks a language, has dumps both with and without a date, or has a file
    that is not a MediaWiki export.
    """

    def may_be_dump(name: str) -> bool:
        return bool(_match(name) or (_DUMP.fullmatch(name) and not _OTHER.fullmatch(name)))

    check_codes(languages)
    pattern = "*.xml, .xml.bz2, .xml.gz or .xml.zst"
    files = list_files(source, may_be_dump, pattern) if isinstance(source, (str, Path)) else source
    asked = {Language(language).database: language for language in languages}
    found: dict[str, list[DumpFile]] = defaultdict(list)
    unread: list[EaseError] = []
    for path in files:
        try:
            of, dump = recognise_dump(path)
        except EaseError as error:
            if len(files) == 1 or _match(path.name):
                raise
            unread.append(error)  # another XML file in the folder
            continue
        if of == project:
            language = asked.get(Language(dump.language).database, dump.language)
            found[language].append(replace(dump, language=language))
    if missing := [language for language in languages if language not in found]:
        check_languages(missing)
        raise EaseError(
            f"{source} has no dump of {', '.join(missing)}; it has {', '.join(sorted(found)) or 'none'}"
            f"{' of Wikinews' if project == 'wikinews' else ''}. Add the dumps, or remove the languages from "
            f"`languages`. {' '.join(map(str, unread[:1]))}".strip()
        )
    for fault in unread:
        logger.info("Not read: %s", fault)
    # Single files and globs may name a part of a dump on purpose.
    whole = isinstance(source, (str, Path)) and kind_of(located(source)) == "directory"
    dumps = [dump for language in languages for dump in _choose_forms(_choose_edition(found[language], whole))]
    for dump in dumps:
        site, match = read_siteinfo(dump.path, dump.language), CONTENT_NAME.fullmatch(dump.path.name)
        if match and site.dbname and site.dbname != (named := match["wiki"] + match["project"]):
            raise EaseError(
                f"{dump.path} is an export of {site.dbname}, not of {named} as its name says: remove or rename it."
            )
    return dumps


def _match(name: str) -> re.Match[str] | None:
    return CONTENT_NAME.fullmatch(name) or _ARTICLES_NAME.fullmatch(name)


def list_files(source: str | Path, wanted: Callable[[str], object], pattern: str) -> list[Path]:
    """List the files of a folder (also in its folders, with a wanted name), a glob or a single path, sorted.

    Raises EaseError if there is none; the pattern describes the wanted names for the message.
    """
    path = located(source)
    kind = kind_of(path)
    if kind == "file":
        return [path]
    if kind is None and not glob.has_magic(str(source)):
        raise EaseError(f"{path} does not exist: set the source to a folder, a glob or a file of dumps.")
    if kind == "directory":
        found = sorted(file for file in files_below(path) if wanted(file.name))
    elif is_remote(path):
        found = sorted(files_matching(path))
    else:
        found = sorted(Path(name) for name in glob.glob(str(source), recursive=True) if Path(name).is_file())
    if files := [file for file in found if not _NO_DATA.fullmatch(file.name)]:
        return files
    if kind is None:
        raise EaseError(f"No file matches the glob {source}: dumps are named {pattern}.")
    raise EaseError(f"The folder {path} has no dump: none of its files is named {pattern}.")


def dump_date(path: Path) -> str | None:
    """Return the date YYYYMMDD in a dump's name, or the name of the nearest parent folder that is a date."""
    name = re.sub(r"-p\d+[pr]\d+(r\d+)?", "", path.name)  # without its range of pages
    in_name = re.findall(r"(?<!\d)(?:\d{8}|\d{4}-\d\d-\d\d)(?!\d)", name)
    for text in (*in_name, *(parent.name for parent in path.absolute().parents)):
        digits = text.replace("-", "") if text.count("-") in (0, 2) else ""
        if re.fullmatch(r"(19|20)\d{6}", digits):
            with suppress(ValueError):
                datetime.strptime(digits, "%Y%m%d")
                return digits
    return None


def split_into_shards(dump: DumpFile, bytes_per_shard: int) -> list[Shard]:
    """Split a file into shards of a given size; a .gz or .zst into at most 16."""
    size = dump.path.stat().st_size
    most = _MAX_GZIP_SHARDS if dump.compression in FROM_THE_BEGINNING else size
    step = max(bytes_per_shard, -(-size // max(1, most)))
    return [Shard(dump, start, min(size, start + step)) for start in range(0, max(1, size), step)]


def recognise_dump(path: Path) -> tuple[str, DumpFile]:
    """Return a dump's project and file; the language comes from the name, else from the header."""
    if match := _match(path.name):
        project, database = match["project"], match["wiki"]
    else:
        header = read_siteinfo(path)
        project = "wikinews" if header.dbname.endswith("wikinews") else "wiki"
        database = header.dbname.removesuffix(project) or header.language
        if not database:
            raise EaseError(
                f"{path} has a language neither in its name nor in its header: name it as enwiki-pages-articles.xml."
            )
    return project, DumpFile(path, Language.from_database(database).code, dump_date(path))


def table_folders(source: str, dumps: Iterable[DumpFile]) -> list[Path]:
    """Return the folders that may have the wikis' other tables: the source if it is one, else those of its dumps."""
    if kind_of(located(source)) == "directory":
        return [located(source)]
    return sorted({dump.path.parent for dump in dumps})


def check_dates(dumps: Sequence[DumpFile]) -> None:
    """Raise EaseError if some files of a language have a date and others have none."""
    undated = next((dump for dump in dumps if dump.dump_date is None), None)
    newest = max(dumps, key=lambda dump: dump.dump_date or "")
    if undated and newest.dump_date:
        raise EaseError(
            f"{newest.language} has a dump with a date, {newest.path}, and one without, {undated.path}: remove one, "
            "move the undated one into a folder named by its date (YYYYMMDD), or name the dumps to use by a glob."
        )


def nearest_table_first(dates: Iterable[str], date: str) -> list[str]:
    """Sort dates (YYYYMMDD): those at or before a date, the newest first, then later ones, the oldest first."""
    known = sorted(set(dates))
    before = [other for other in known if other <= date]
    return before[::-1] + known[len(before) :]


def parse_checksums(text: str) -> dict[str, str]:
    """Return checksums by file name from the output of sha256sum, sha1sum or md5sum."""
    return {name: value.lower() for value, name in _CHECKSUM.findall(text)}


def _choose_edition(dumps: Sequence[DumpFile], whole: bool) -> list[DumpFile]:
    """Return a language's files of the newest date that is complete, in one layout, and log what is not used.

    Missing and overlapping page ranges are logged, unless another date or layout is complete. If `whole`, files that a
    list of checksums beside them names must be there, and others are not used.
    """
    check_dates(dumps)
    editions: dict[tuple[str, bool], list[DumpFile]] = defaultdict(list)
    for dump in dumps:
        # Of one date, articles dumps are preferred: they have half the bytes.
        editions[dump.dump_date or "", not CONTENT_NAME.fullmatch(dump.path.name)].append(dump)
    newest_first = sorted(editions, reverse=True)
    unlisted = dict.fromkeys(newest_first, "")
    if whole:
        for edition in newest_first:
            editions[edition], unlisted[edition] = _listed_files(editions[edition])
    ranges = {edition: _range_faults(editions[edition]) for edition in newest_first}
    chosen = min(newest_first, key=lambda edition: (bool(unlisted[edition]), bool(ranges[edition])))
    if unlisted[chosen]:
        raise EaseError(unlisted[chosen])
    for fault in ranges[chosen]:
        logger.warning("%s", fault)
    if len(editions) > 1:
        kinds = {False: "content export", True: "articles dump"}
        names = [f"{kinds[is_dump]} of {date}" for date, is_dump in newest_first]
        used = names.pop(newest_first.index(chosen))
        logger.info("%s: using the %s, not the %s", dumps[0].language, used, ", ".join(names))
        for edition in newest_first[: newest_first.index(chosen)]:
            logger.warning("%s", " ".join(filter(None, [unlisted[edition], *ranges[edition]])))
    return editions[chosen]


def _listed_files(dumps: Sequence[DumpFile]) -> tuple[list[DumpFile], str]:
    """Return the files that SHA256SUMS beside them lists, or all, and a message on listed ones that are absent."""
    kept, missing = list(dumps), []
    there = {dump.path.name for dump in dumps}
    wiki = dumps[0].path.name.rpartition("-p")[0]
    for folder in dict.fromkeys(dump.path.parent for dump in dumps if CONTENT_NAME.fullmatch(dump.path.name)):
        if kind_of(listing := folder / CHECKSUM_LIST) != "file":
            continue
        names = parse_checksums(listing.read_text(encoding="utf-8", errors="replace"))
        listed = {name for name in names if name.startswith(f"{wiki}-p")}
        missing += [f"{listing} lists {name}" for name in sorted(listed - there)]
        if listed:  # others are of an earlier export of the same date
            unpacked = {name.removesuffix(".bz2") for name in listed}
            kept = [dump for dump in kept if dump.path.parent != folder or _unpacked(dump.path.name) in unpacked]
    if not missing:
        return kept or list(dumps), ""
    return kept, (
        f"{', '.join(missing[:5])}, which {'is' if len(missing) == 1 else 'are'} not there: download again, or "
        f"remove {CHECKSUM_LIST} to use the files that are there."
    )


def _unpacked(name: object) -> str:
    return re.sub(r"\.(bz2|gz|zst)$", "", str(name))


def _range_faults(dumps: Sequence[DumpFile]) -> list[str]:
    """Return messages about page ranges that are missing between the files of a dump, or are in two of them."""
    ranges: dict[tuple[int, int], Path] = {}
    for dump in dumps:
        if (match := _match(dump.path.name)) and match["first"]:
            first = int(match["first"])
            ranges.setdefault((first, int(match["last"] or first)), dump.path)
    faults = []
    end, length, path = 0, _MAX_FIRST_PAGE / _MIN_GAP, Path("the beginning")
    for (first, last), other in sorted(ranges.items()):
        gap = first - end - 1
        if gap < 0:
            both = f"pages {first} to {min(end, last)} are in both"
            faults.append(f"{path.name} and {other.name} overlap: {both}.")
        elif gap > _MIN_GAP * min(length, last - first + 1 if end else length):
            faults.append(f"Pages {end + 1} to {first - 1} are missing between {path.name} and {other.name}.")
        if last > end:
            end, length, path = last, last - first + 1, other
    return faults


def _choose_forms(dumps: Iterable[DumpFile]) -> list[DumpFile]:
    """Choose one form of each edition (`20240101`, `latest`, `mini`), with its parts in order."""
    chosen, described = list[DumpFile](), []
    for dump in dumps:
        if (match := _match(dump.path.name)) is None:
            chosen.append(dump)
            continue
        names = defaultdict(str, {name: value or "" for name, value in match.groupdict().items()})
        form = (bool(names["part"] or names["first"]), not names["multistream"])
        rest = names["rest"] or names["revision"].zfill(20)
        part = (int(names["part"] or 0), int(names["first"] or 0), rest)
        # Prefer the multistream form that Wikimedia publishes, then the compression that is fastest to read.
        slowness = {"bz2": 0 if names["multistream"] else 4, "plain": 1, "zst": 2, "gz": 3}[dump.compression]
        described.append((names["edition"], form, part, slowness, dump))
    forms: dict[str, tuple[bool, bool]] = {}
    parts: dict[object, DumpFile] = {}
    for edition, form, part, _, dump in sorted(described, key=lambda one: one[:4]):
        if form == forms.setdefault(edition, form):
            parts.setdefault((edition, part), dump)
    return [*chosen, *parts.values()]


def find_wikidata(source: str | Path, form: WikidataForm = "json") -> Path:
    """Find the newest Wikidata dump, in the compression that is fastest to read.

    The source is a folder (searched recursively), a glob or a file; the form is all of Wikidata, or truthy statements.
    Raises EaseError if there is no dump, or the newest of several is unclear, for example if one has no date.
    """
    name, in_words = _WIKIDATA_NAMES[form]
    dates = {file: dump_date(file) for file in list_files(source, name.fullmatch, in_words)}
    newest = max((date for date in dates.values() if date), default=None)
    # A file without a date may be newer than the newest date.
    files = [file for file, date in dates.items() if date in (None, newest)]
    if len(set(map(_unpacked, files))) > 1:
        raise EaseError(
            f"{source} has several Wikidata dumps ({', '.join(map(str, files))}): set the source to one of them."
        )
    return min(files, key=lambda file: FASTEST_FIRST.index(compression_of(file)))


def read_siteinfo(path: Path, language: str | None = None) -> SiteInfo:
    """Read the namespaces and title rules of an export's wiki, which precede its first page.

    Without a language, that of the result is the one that the export names, or an empty text. Raises EaseError if the
    file is missing, broken, or not a MediaWiki export.
    """
    site: dict[str, str] = {}
    namespaces: dict[str, int] = {}
    for event, name, element in _header_elements(path):
        text = (element.text or "").strip()
        if not site:  # at the first event
            site["language"] = language or element.get("{http://www.w3.org/XML/1998/namespace}lang", "")
        elif name == "page" or (event == "end" and name in ("siteinfo", "mediawiki")):
            return SiteInfo(**site, namespaces=namespaces)
        elif event == "end" and text and name in ("dbname", "case"):
            site[name] = text
        elif event == "end" and text and name == "namespace":
            with suppress(ValueError):
                namespaces[text] = read_number(element.get("key", ""))
    raise EaseError(f"{path} is truncated before its first page: download it again.")


def _header_elements(path: Path) -> Iterator[tuple[str, str, etree._Element]]:
    """Yield the beginnings and ends of an export's elements, of which the first is the root's beginning."""
    # Does not expand entities, which no MediaWiki export declares.
    parser = etree.XMLPullParser(("start", "end"), resolve_entities=False, no_network=True)
    refusal = f"{path} is not a MediaWiki export (XML with the root <mediawiki>): {{}}. Name another file."
    head, root, size = b"", "", 0
    # Pieces of a block, since the header is much shorter.
    blocks = (block for _, block in DecompressedStream(path))
    for piece in (block[at : at + _PIECE] for block in blocks for at in range(0, len(block), _PIECE)):
        head, size, fault = head or piece.lstrip(), size + len(piece), ""
        try:
            parser.feed(piece)
        except etree.XMLSyntaxError as error:  # perhaps in a page after the header
            fault = error.msg
        for event, element in parser.read_events():
            name = etree.QName(element).localname
            root = root or name
            if root != "mediawiki":
                raise EaseError(refusal.format(f"its root is <{root}>"))
            yield event, name, element
        if fault:
            broken = f"{path} is broken before its first page: {fault}. Download it again."
            raise EaseError(broken if root else refusal.format(f"it begins with {head[:40]!r}"))
        if size > _MAX_HEADER_BYTES:
            raise EaseError(f"{path} has no <page> in its first {size:,} bytes: choose a file …-pages-articles….xml.")
    if not head:
        raise EaseError(refusal.format("it has no element"))


def read_number(text: str) -> int:
    """Return a number of an export, such as a page's id; raises ValueError unless it is an integer of 64 bits."""
    if (found := _NUMBER.fullmatch(text)) and abs(number := int(found[1])) < 1 << 63:
        return number
    raise ValueError(f"{text[:40]!r} is not a number of 64 bits")
