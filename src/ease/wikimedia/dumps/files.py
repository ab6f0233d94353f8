"""Dump files: find them, recognise their kind, read their `<siteinfo>`, and split them into shards."""

from __future__ import annotations

import codecs
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
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, Language, check_codes, check_languages
from ease.wikimedia.wikitext.titles import SiteInfo

logger = logging.getLogger(__name__)

_WIKI = r"(?P<wiki>[a-z][a-z0-9_]*?)(?P<project>wiki|wikinews)-"
_PACKED = r"(?:\.(?:bz2|gz|xz|zst))?"
_ARTICLES_NAME = re.compile(
    rf"{_WIKI}(?:(?P<edition>.+?)-)?pages-articles(?P<multistream>-multistream)?(?P<part>\d*)\.xml"
    rf"(?:-p(?P<first>\d+)p(?P<last>\d+))?(?P<rest>-[\w-]+)?{_PACKED}"
)
"""Names of an articles dump: enwiki-20240101-pages-articles-multistream1.xml-p1p41242.bz2."""
CONTENT_NAME = re.compile(
    rf"{_WIKI}(?P<date>\d{{4}}-\d\d-\d\d)-p(?P<first>\d+)(?:p(?P<last>\d+)|r(?P<revision>\d+)r\d+)\.xml{_PACKED}"
)
"""Names of a content export: enwiki-2026-11-01-p10p1147431.xml.bz2; of a large page alone: -p5r1r900.xml.bz2."""
_OFFICIAL_EDITION = re.compile(r"(19|20)\d{6}|latest")
_WIKIMEDIA_DATABASE = re.compile(
    r"(?:commons|incubator|mediawiki|meta|outreach|species|wikidata)wiki"
    r"|(?P<wiki>.+?)(?:wiki|wikibooks|wikinews|wikiquote|wikisource|wikiversity|wikivoyage|wiktionary)"
)
"""Databases of Wikimedia's projects, of a language or of all"""
CHECKSUM_LIST = "SHA256SUMS"
"""Lists the files of a content export."""
_CHECKSUM = re.compile(r"^\\?([0-9a-fA-F]{32,64}) [ *](?:.*/)?([^/\n\r]+)", re.MULTILINE)
_DUMP = re.compile(rf".*\.xml[^.]*{_PACKED}")
# Other XML files that Wikimedia publishes beside the dumps, in the same folders.
_OTHER = re.compile(r".*-(stub-|pages-(meta|logging)|abstract|siteinfo).*|.*-rss\.xml")
# Hidden and partial files, checksums and indexes, which a folder or glob may have besides its dumps.
_NO_DATA = re.compile(r"\..*|.*\.(part|md5|sha\d*|txt|html?)|.*index.*|_SUCCESS|.*SUMS")
_ARCHIVE = re.compile(r"[^.].*\.(7z|zip|rar|tar|tgz|tbz2?|txz|tar\.\w+)")
# Deleted pages leave gaps in the page ids: a gap below this share of the shorter range is taken for them.
_MIN_GAP = 0.1
# Largest page id that the first file of a dump may begin with; a larger one means that a file is missing.
_MAX_FIRST_PAGE = 1000
# Each shard of a .gz, .xz or .zst decompresses the file from its beginning; 16 shards cost about a fifth of one parse.
_MAX_GZIP_SHARDS = 16
# Bytes read in search of the first page, so that a large XML file of another kind is refused early.
_MAX_HEADER_BYTES = 16 << 20
_HEADER_PIECE_BYTES = 16 << 10
_ENCODING_BYTES = 64
_DECLARED_ENCODING = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']([^"']*)["']""")
_NUMBER = re.compile(r"\s*(-?[0-9]{1,19})\s*")

Project = Literal["wiki", "wikinews"]
WikidataForm = Literal["json", "truthy"]
_WIKIDATA_NAMES: dict[WikidataForm, tuple[re.Pattern[str], str]] = {
    "json": (
        re.compile(r"(?!.*lexemes)(.*wikidata.*|.*-all)\.json(\.bz2|\.gz|\.xz|\.zst)?"),
        "*wikidata*.json or *-all.json (.bz2, .gz, .xz, .zst)",
    ),
    "truthy": (re.compile(r".*truthy.*\.nt(\.bz2|\.gz|\.xz|\.zst)?"), "*truthy*.nt (.bz2, .gz, .xz, .zst)"),
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
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Restore a file; its path is absolute, since a Spark worker runs in another folder."""
        return cls(located(record["path"]).absolute(), record["language"], record["dump_date"])


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
    check_codes(languages)
    files: Sequence[Path]
    folder: Path | None = None
    if isinstance(source, (str, Path)):
        files = list_files(source, _may_be_dump, "*.xml, .xml.bz2, .xml.gz, .xml.xz or .xml.zst")
        if kind_of(located(source)) == "directory":
            folder = located(source)
    else:
        files = source
    dumps_by_language, faults, others = _recognise_dumps(files, languages, project)
    if missing := [language for language in languages if language not in dumps_by_language]:
        check_languages(missing)
        of_project = ""
        if project == "wikinews":
            of_project = " of Wikinews"
        archives = ""
        if folder is not None:
            archives = _unread_archives(folder)
        present = ", ".join([*sorted(dumps_by_language), *others]) or "none"
        raise EaseError(
            f"{source} has no dump of {', '.join(missing)}; it has {present}{of_project}. Add the dumps, or remove the "
            f"languages from `languages`.{archives} {' '.join(map(str, faults[:1]))}".strip()
        )
    for fault in faults:
        logger.warning("Not read: %s", fault)
    dumps = []
    for language in languages:
        # Single files and globs may name a part of a dump on purpose.
        dumps += _choose_forms(_choose_edition(dumps_by_language[language], complete=folder is not None))
    for dump in dumps:
        read_site(dump)
    return dumps


def _may_be_dump(name: str) -> bool:
    return bool(_match(name) or (_DUMP.fullmatch(name) and not _OTHER.fullmatch(name)))


def _recognise_dumps(
    files: Sequence[Path], languages: Sequence[str], project: Project
) -> tuple[dict[str, list[DumpFile]], list[EaseError], list[str]]:
    """Return a project's dumps by language, the faults of XML files that are not dumps, and what other wikis there are.

    The other wikis have their language and database, such as `de (dewikivoyage)`.
    """
    # A dump's file names the database; the language gets the code by which the caller knows it.
    codes = {Language(language).database: language for language in languages}
    dumps: dict[str, list[DumpFile]] = defaultdict(list)
    faults: list[EaseError] = []
    # Other wikis' dumps by language and database: used if no Wikipedia's dump has the language.
    others: dict[str, dict[str, list[DumpFile]]] = defaultdict(dict)
    for path in files:
        try:
            dump_project, dump = recognise_dump(path)
        except EaseError as error:
            if len(files) == 1:
                raise
            # A folder may hold other XML files.
            faults.append(error)
            continue
        language = codes.get(Language(dump.language).database, dump.language)
        if dump_project == project:
            dumps[language].append(replace(dump, language=language))
        elif project == "wiki" and dump_project != "wikinews":
            others[language].setdefault(dump_project, []).append(replace(dump, language=language))
    names = sorted(f"{language} ({wiki})" for language, dumps_by_wiki in others.items() for wiki in dumps_by_wiki)
    for language, dumps_by_wiki in others.items():
        paths = ", ".join(str(dump.path) for dumps_of_wiki in dumps_by_wiki.values() for dump in dumps_of_wiki)
        if language not in languages:
            continue
        if language in dumps or len(dumps_by_wiki) > 1:
            faults.append(EaseError(f"{paths}: dumps of {', '.join(sorted(dumps_by_wiki))}, not of one Wikipedia"))
            continue
        (wiki,) = dumps_by_wiki
        logger.warning("%s: a dump of %s, read as %s by its xml:lang", paths, wiki, language)
        dumps[language] = dumps_by_wiki[wiki]
    return dumps, faults, names


def read_site(dump: DumpFile) -> SiteInfo:
    """Return a dump's wiki, of the language by which its file is named.

    Raises EaseError if the header is another wiki's and the file is named as Wikimedia names dumps. A slice with such a
    header, as some collections of test data have, is only warned about.
    """
    header = read_siteinfo(dump.path)
    match = _match(dump.path.name)
    if match and _is_other_wiki(header, match["wiki"], match["project"]):
        wiki = match["wiki"] + match["project"]
        other = header.dbname or f"a wiki in {header.language}"
        if _OFFICIAL_EDITION.match(match.groupdict().get("edition", "latest")):
            raise EaseError(f"{dump.path} is a dump of {other} by its header, not of {wiki}: remove or rename it.")
        logger.warning("%s has the header of %s; it is read as %s, by its name", dump.path, other, wiki)
    return replace(header, language=dump.language)


def _is_other_wiki(header: SiteInfo, wiki: str, project: str) -> bool:
    """Return whether a header is of another wiki than a file's name.

    A wiki of one's own may have any database, and old dumps name none: then the language counts, if there is one.
    """
    named = Language.from_database(wiki)
    if header.dbname == f"{wiki}{project}" or named.code not in WIKIPEDIA_LANGUAGES:
        return False
    other = _WIKIMEDIA_DATABASE.fullmatch(header.dbname)
    if other and (not other["wiki"] or Language.from_database(other["wiki"]).code in WIKIPEDIA_LANGUAGES):
        return True
    is_known = Language.from_tag(header.language).code in WIKIPEDIA_LANGUAGES
    return is_known and not named.has_tag(header.language)


def _match(name: str) -> re.Match[str] | None:
    return CONTENT_NAME.fullmatch(name) or _ARTICLES_NAME.fullmatch(name)


def list_files(source: str | Path, accepts: Callable[[str], object], pattern: str) -> list[Path]:
    """List the data files of a folder (searched recursively), a glob or a single path, sorted.

    Of a folder, only files whose names the function `accepts` are listed; the pattern describes these names for the
    error message. Raises EaseError if there is no file.
    """
    path = located(source)
    kind = kind_of(path)
    if kind == "file":
        return [path]
    if kind is None and not glob.has_magic(str(source)):
        raise EaseError(f"{path} does not exist: set the source to a folder, a glob or a file of dumps.")
    if kind == "directory":
        candidates = sorted(file for file in files_below(path) if accepts(file.name))
    elif is_remote(path):
        candidates = sorted(files_matching(path))
    else:
        candidates = sorted(Path(name) for name in glob.glob(str(source), recursive=True) if Path(name).is_file())
    if files := [file for file in candidates if not _NO_DATA.fullmatch(file.name)]:
        return files
    if kind is None:
        raise EaseError(f"No file matches the glob {source}: dumps are named {pattern}.")
    raise EaseError(f"The folder {path} has no dump: none of its files is named {pattern}.{_unread_archives(path)}")


def _unread_archives(folder: Path) -> str:
    """Return a sentence about archives in a folder, which are not read; empty without them."""
    archives = sorted(file.name for file in files_below(folder) if _ARCHIVE.fullmatch(file.name))
    if not archives:
        return ""
    return f" Archives are not read, such as {archives[0]}: unpack them."


def dump_date(path: Path) -> str | None:
    """Return the date YYYYMMDD in a dump's name, or the name of the nearest parent folder that is a date."""
    # Eight digits of a page range would be taken for a date.
    name = re.sub(r"-p\d+[pr]\d+(r\d+)?", "", path.name)
    dates = re.findall(r"(?<!\d)(?:\d{8}|\d{4}-\d\d-\d\d)(?!\d)", name)
    for text in (*dates, *(parent.name for parent in path.absolute().parents)):
        if text.count("-") not in (0, 2):
            continue
        digits = text.replace("-", "")
        if re.fullmatch(r"(19|20)\d{6}", digits):
            # Other numbers of eight digits, such as 20241399, are no dates.
            with suppress(ValueError):
                datetime.strptime(digits, "%Y%m%d")
                return digits
    return None


def split_into_shards(dump: DumpFile, bytes_per_shard: int) -> list[Shard]:
    """Split a file into shards of a size in bytes; a .gz, .xz or .zst into at most 16."""
    size = dump.path.stat().st_size
    max_shards = size
    if dump.compression in FROM_THE_BEGINNING:
        max_shards = _MAX_GZIP_SHARDS
    step = max(bytes_per_shard, -(-size // max(1, max_shards)))
    return [Shard(dump, start, min(size, start + step)) for start in range(0, max(1, size), step)]


def recognise_dump(path: Path) -> tuple[str, DumpFile]:
    """Return a dump's project and file.

    A Wikipedia's or Wikinews' language comes from the file's name, else from the database in the header. The project of
    any other wiki is its database, such as `dewikivoyage`, and the language is the header's `xml:lang`.
    """
    match = _match(path.name)
    if match and Language.from_database(match["wiki"]).code in WIKIPEDIA_LANGUAGES:
        return match["project"], DumpFile(path, Language.from_database(match["wiki"]).code, dump_date(path))
    header = read_siteinfo(path)
    database = header.dbname
    if match and not database:
        database = match["wiki"] + match["project"]
    project = "wiki"
    if database.endswith("wikinews"):
        project = "wikinews"
    tag = header.language
    if database.endswith(project):
        language = Language.from_database(database.removesuffix(project))
        # A database may be called like a Wikipedia's by chance: `mywiki` of an English wiki.
        if not tag or language.has_tag(tag):
            return project, DumpFile(path, language.code, dump_date(path))
    if not tag:
        raise EaseError(
            f"{path} has a language neither in its name nor in its header: name it as enwiki-pages-articles.xml."
        )
    return database or project, DumpFile(path, Language.from_tag(tag).code, dump_date(path))


def table_folders(source: str, dumps: Iterable[DumpFile]) -> list[Path]:
    """Return the folders that may have the wikis' other tables: the source if it is a folder, else its dumps' ones."""
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
    """Sort dates (YYYYMMDD): first those until a date, the newest first, then the later ones, the oldest first."""
    ascending = sorted(set(dates))
    earlier = [candidate for candidate in ascending if candidate <= date]
    return earlier[::-1] + ascending[len(earlier) :]


def parse_checksums(text: str) -> dict[str, str]:
    """Return checksums by file name from the output of sha256sum, sha1sum or md5sum."""
    return {name: value.lower() for value, name in _CHECKSUM.findall(text)}


def _choose_edition(dumps: Sequence[DumpFile], complete: bool) -> list[DumpFile]:
    """Return a language's files of the newest date that is complete, in one layout, and log what is not used.

    Missing and overlapping page ranges are logged, unless another date or layout is complete. If `complete`, files that
    a checksum list beside them names must exist, and files that the list lacks are not used.
    """
    check_dates(dumps)
    editions: dict[tuple[str, bool], list[DumpFile]] = defaultdict(list)
    for dump in dumps:
        # Of one date, articles dumps are preferred: they have half the bytes.
        editions[dump.dump_date or "", not CONTENT_NAME.fullmatch(dump.path.name)].append(dump)
    newest_first = sorted(editions, reverse=True)
    absences = dict.fromkeys(newest_first, "")
    if complete:
        for edition in newest_first:
            editions[edition], absences[edition] = _listed_files(editions[edition])
    range_faults = {edition: _range_faults(editions[edition]) for edition in newest_first}
    # An absent file loses articles; a gap in the page ids may be deleted pages, so it counts less.
    best = min(newest_first, key=lambda edition: (bool(absences[edition]), bool(range_faults[edition])))
    if absences[best]:
        raise EaseError(absences[best])
    for fault in range_faults[best]:
        logger.warning("%s", fault)
    if len(editions) > 1:
        kinds = {False: "content export", True: "articles dump"}
        titles = [f"{kinds[is_dump]} of {date}" for date, is_dump in newest_first]
        best_title = titles.pop(newest_first.index(best))
        logger.info("%s: using the %s, not the %s", dumps[0].language, best_title, ", ".join(titles))
        for edition in newest_first[: newest_first.index(best)]:
            logger.warning("%s", " ".join(filter(None, [absences[edition], *range_faults[edition]])))
    return editions[best]


def _listed_files(dumps: Sequence[DumpFile]) -> tuple[list[DumpFile], str]:
    """Return the files that SHA256SUMS beside them lists, or all, and a message if listed files do not exist."""
    listed_dumps = list(dumps)
    missing: list[str] = []
    file_names = {dump.path.name for dump in dumps}
    wiki = dumps[0].path.name.rpartition("-p")[0]
    for folder in dict.fromkeys(dump.path.parent for dump in dumps if CONTENT_NAME.fullmatch(dump.path.name)):
        listing = folder / CHECKSUM_LIST
        if kind_of(listing) != "file":
            continue
        checksums = parse_checksums(listing.read_text(encoding="utf-8", errors="replace"))
        listed_names = {name for name in checksums if name.startswith(f"{wiki}-p")}
        missing += [f"{listing} lists {name}" for name in sorted(listed_names - file_names)]
        if listed_names:
            # Files that the list lacks are left over from an earlier export of the same date. A user may have
            # decompressed a listed file.
            unpacked = {name.removesuffix(".bz2") for name in listed_names}
            listed_dumps = [
                dump for dump in listed_dumps if dump.path.parent != folder or _unpacked(dump.path.name) in unpacked
            ]
    if not missing:
        return listed_dumps or list(dumps), ""
    verb = "are"
    if len(missing) == 1:
        verb = "is"
    return listed_dumps, (
        f"{', '.join(missing[:5])}, which {verb} not there: download again, or "
        f"remove {CHECKSUM_LIST} to use the files that are there."
    )


def _unpacked(name: object) -> str:
    return re.sub(r"\.(bz2|gz|xz|zst)$", "", str(name))


def _range_faults(dumps: Sequence[DumpFile]) -> list[str]:
    """Return messages about page ranges that no file of a dump has, or that two files have."""
    ranges: dict[tuple[int, int], Path] = {}
    for dump in dumps:
        if (match := _match(dump.path.name)) and match["first"]:
            first = int(match["first"])
            # A content export may have a large page alone, in files of some of its revisions.
            ranges.setdefault((first, int(match["last"] or first)), dump.path)
    faults = []
    # Before the first file, a gap of up to _MAX_FIRST_PAGE ids passes the test below.
    end = 0
    length = _MAX_FIRST_PAGE / _MIN_GAP
    path = Path("the beginning")
    for (first, last), next_path in sorted(ranges.items()):
        gap = first - end - 1
        shorter = length
        if end:
            shorter = min(length, last - first + 1)
        if gap < 0:
            overlap = f"pages {first} to {min(end, last)} are in both"
            faults.append(f"{path.name} and {next_path.name} overlap: {overlap}.")
        elif gap > _MIN_GAP * shorter:
            faults.append(f"Pages {end + 1} to {first - 1} are missing between {path.name} and {next_path.name}.")
        if last > end:
            end = last
            length = last - first + 1
            path = next_path
    return faults


def _choose_forms(dumps: Iterable[DumpFile]) -> list[DumpFile]:
    """Choose one form of each edition (`20240101`, `latest`, `mini`), with its parts in order."""
    unnamed: list[DumpFile] = []
    candidates = []
    for dump in dumps:
        match = _match(dump.path.name)
        if match is None:
            unnamed.append(dump)
            continue
        # The two patterns have different groups: an absent group counts as an empty one.
        names = defaultdict(str, {name: value or "" for name, value in match.groupdict().items()})
        form = (bool(names["part"] or names["first"]), not names["multistream"])
        rest = names["rest"] or names["revision"].zfill(20)
        part = (int(names["part"] or 0), int(names["first"] or 0), rest)
        # Prefer the multistream form that Wikimedia publishes, then the compression that is fastest to read.
        slowness = {"plain": 1, "zst": 2, "gz": 3, "bz2": 4, "xz": 5}[dump.compression]
        if dump.compression == "bz2" and names["multistream"]:
            slowness = 0
        candidates.append((names["edition"], form, part, slowness, dump))
    # The first form of an edition is the one to read, and so is the first file of each part.
    forms: dict[str, tuple[bool, bool]] = {}
    parts: dict[object, DumpFile] = {}
    for edition, form, part, _, dump in sorted(candidates, key=lambda candidate: candidate[:4]):
        if form == forms.setdefault(edition, form):
            parts.setdefault((edition, part), dump)
    return [*unnamed, *parts.values()]


def find_wikidata(source: str | Path, form: WikidataForm = "json") -> Path:
    """Find the newest Wikidata dump, in the compression that is fastest to read.

    The source is a folder (searched recursively), a glob or a file. The form is Wikidata's JSON, or its truthy
    statements. Raises EaseError if there is no dump, or the newest of several is unclear, for example without a date.
    """
    name_pattern, pattern_in_words = _WIKIDATA_NAMES[form]
    dates = {file: dump_date(file) for file in list_files(source, name_pattern.fullmatch, pattern_in_words)}
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

    Without a language, the result has the export's, or an empty text. Raises EaseError if the file is missing, broken,
    or not a MediaWiki export.
    """
    site: dict[str, str] = {}
    namespaces: dict[str, int] = {}
    for event, name, element in _header_elements(path):
        text = (element.text or "").strip()
        if not site:
            # The first event is the beginning of the root, which names the language.
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
    """Yield (event, local name, element) for the starts and ends of an export's elements, beginning with its root."""
    # Does not expand entities, which no MediaWiki export declares.
    parser = etree.XMLPullParser(("start", "end"), resolve_entities=False, no_network=True)
    refusal = f"{path} is not a MediaWiki export (XML with the root <mediawiki>): {{}}. Name another file."
    head = b""
    root = ""
    size = 0
    # Pieces of a block, since the header is much shorter.
    blocks = (block for _, block in DecompressedStream(path))
    for piece in (
        block[at : at + _HEADER_PIECE_BYTES] for block in blocks for at in range(0, len(block), _HEADER_PIECE_BYTES)
    ):
        if not head:
            head = piece.lstrip()
            _check_encoding(path, head)
        size += len(piece)
        fault = ""
        try:
            parser.feed(piece)
        except etree.XMLSyntaxError as error:
            # The fault may be in a page after the header: the events before it come first.
            fault = error.msg
        for event, element in parser.read_events():
            name = etree.QName(element).localname
            root = root or name
            if root != "mediawiki":
                raise EaseError(refusal.format(f"its root is <{root}>"))
            yield event, name, element
        if fault and root:
            raise EaseError(f"{path} is broken before its first page: {fault}. Download it again.")
        if fault:
            raise EaseError(refusal.format(f"it begins with {head[:40]!r}"))
        if size > _MAX_HEADER_BYTES:
            raise EaseError(f"{path} has no <page> in its first {size:,} bytes: choose a file …-pages-articles….xml.")
    if not head:
        raise EaseError(refusal.format("it has no element"))


def _check_encoding(path: Path, head: bytes) -> None:
    """Raise EaseError if an XML file's first bytes are not in UTF-8, or declare another encoding."""
    # Pages are searched for in the bytes of UTF-8. A header has NUL bytes in UTF-16 and UTF-32 alone.
    encoding = ""
    if b"\0" in head[:_ENCODING_BYTES] and b"<" in head[:_ENCODING_BYTES]:
        encoding = "UTF-16"
        if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)) or b"\0\0" in head[:_ENCODING_BYTES]:
            encoding = "UTF-32"
    elif match := _DECLARED_ENCODING.match(head.removeprefix(codecs.BOM_UTF8).lstrip()):
        if match[1].lower() not in (b"utf-8", b"utf8", b"ascii", b"us-ascii"):
            encoding = match[1].decode("ascii", errors="replace")
    if encoding:
        raise EaseError(
            f"{path} is encoded in {encoding}, and MediaWiki exports UTF-8: convert it "
            f"(iconv -f {encoding} -t UTF-8), and declare no other encoding in its first line."
        )


def read_number(text: str) -> int:
    """Return a number of an export, such as a page's id; raises ValueError unless it is an integer of 64 bits."""
    match = _NUMBER.fullmatch(text)
    if match:
        number = int(match[1])
        if abs(number) < 1 << 63:
            return number
    raise ValueError(f"{text[:40]!r} is not a number of 64 bits")
