"""Find the dump files of Wikipedias, Wikinews or Wikidata, and split them into shards for parallel reading."""

from __future__ import annotations

import glob
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self

from ease.errors import EaseError
from ease.io.addresses import address_of, files_below, files_matching, is_remote, kind_of, located
from ease.wikimedia.dumps.siteinfo import read_siteinfo
from ease.wikimedia.dumps.streams import FASTEST_FIRST, FROM_THE_BEGINNING, Compression, compression_of
from ease.wikimedia.languages import Language, check_codes, check_languages

logger = logging.getLogger(__name__)

_NAME = re.compile(
    r"(?P<wiki>[a-z][a-z0-9_]*?)(?P<project>wiki|wikinews)-(?:(?P<edition>.+?)-)?"
    r"pages-articles(?P<multistream>-multistream)?(?P<part>\d*)\.xml(?P<pages>-p\d+p\d+)?(?P<rest>-[\w-]+)?(?:\.(?:bz2|gz|zst))?"
)
_DUMP = re.compile(r".*-pages-articles.*\.xml[^.]*(?:\.(?:bz2|gz|zst))?")
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
_IN_WORDS: dict[Project, str] = {"wiki": "", "wikinews": " of Wikinews"}
_MAX_GZIP_SHARDS = 16
"""Each shard of a .gz or .zst decompresses the file from its beginning; 16 shards cost about a fifth of one parse."""


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


def find_dumps(source: str | Path, languages: Sequence[str], project: Project = "wiki") -> list[DumpFile]:
    """Find the dump files of some languages' wikis.

    Only one form of each dump is used: a single file rather than parts, multistream rather than plain. If a language
    has dumps of several dates, the newest is used and logged. Dumps without a date (`latest`, slices) are all used.

    Args:
        source: Folder (searched recursively), glob or file; local, or an address that fsspec supports.
        languages: Language codes of the wikis.
        project: Which wikis: Wikipedia or Wikinews.

    Raises:
        EaseError: The source is missing, lacks a language, has dumps both with and without a date, or has a file
            that is not a MediaWiki export.
    """
    check_codes(languages)
    found: dict[str, list[DumpFile]] = defaultdict(list)
    asked = {Language(language).database: language for language in languages}
    for path in list_files(source, _DUMP.fullmatch, "*-pages-articles*.xml, .xml.bz2, .xml.gz or .xml.zst"):
        of, dump = recognise_dump(path)
        if of == project:
            language = asked.get(Language(dump.language).database, dump.language)
            found[language].append(replace(dump, language=language))
    if missing := [language for language in languages if language not in found]:
        check_languages(missing)
        raise EaseError(
            f"{source} has no dump of {', '.join(missing)}; it has {', '.join(sorted(found)) or 'none'}"
            f"{_IN_WORDS[project]}. Add the dumps, or remove the languages from `languages`."
        )
    dumps = [dump for language in languages for dump in _choose_forms(choose_date(found[language]))]
    for dump in dumps:
        read_siteinfo(dump.path, dump.language)
    return dumps


def list_files(source: str | Path, wanted: Callable[[str], object], pattern: str) -> list[Path]:
    """List the files of a folder (also in its folders, with a wanted name), a glob or a single path, sorted.

    The pattern describes the wanted names for the error message.

    Raises:
        EaseError: The path does not exist, or no file matches.
    """
    path = located(source)
    kind = kind_of(path)
    if kind == "file":
        return [path]
    if kind == "directory":
        files = sorted(file for file in files_below(path) if wanted(file.name))
        if not files:
            raise EaseError(f"The folder {path} has no dump: none of its files is named {pattern}.")
        return files
    if not glob.has_magic(str(source)):
        raise EaseError(f"{path} does not exist: set the source to a folder, a glob or a file of dumps.")
    if is_remote(path):
        files = sorted(files_matching(path))
    else:
        files = sorted(Path(name) for name in glob.glob(str(source), recursive=True) if Path(name).is_file())
    files = [file for file in files if "index" not in file.name]
    if not files:
        raise EaseError(f"No file matches the glob {source}: dumps are named {pattern}.")
    return files


def dump_date(path: Path) -> str | None:
    """Return the date YYYYMMDD in a dump's name, or the name of the nearest parent folder that is a date."""
    in_name = re.findall(r"(?<!\d)\d{8}(?!\d)", re.sub(r"-p\d+p\d+", "", path.name))
    for text in (*in_name, *(parent.name for parent in path.absolute().parents)):
        if re.fullmatch(r"(19|20)\d{6}", text):
            try:
                datetime.strptime(text, "%Y%m%d")
            except ValueError:
                continue
            return text
    return None


def split_into_shards(dump: DumpFile, bytes_per_shard: int) -> list[Shard]:
    """Split a file into shards of a given size; a .gz or .zst into at most 16."""
    size = dump.path.stat().st_size
    most = _MAX_GZIP_SHARDS if dump.compression in FROM_THE_BEGINNING else size
    step = max(bytes_per_shard, -(-size // max(1, most)))
    return [Shard(dump, start, min(size, start + step)) for start in range(0, max(1, size), step)]


def recognise_dump(path: Path) -> tuple[str, DumpFile]:
    """Return a dump's project and file; the language comes from the name, else from the header."""
    match = _NAME.fullmatch(path.name)
    if match:
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


def choose_date(dumps: Sequence[DumpFile]) -> list[DumpFile]:
    """Return the dumps of the newest date, or all dumps if none has a date.

    Raises:
        EaseError: Some dumps have a date and others have none.
    """
    undated = next((dump for dump in dumps if dump.dump_date is None), None)
    newest = max(dumps, key=lambda dump: dump.dump_date or "")
    if newest.dump_date is None:
        return list(dumps)
    if undated:
        raise EaseError(
            f"{newest.language} has a dump with a date, {newest.path}, and one without, {undated.path}, which may be "
            "newer or older: remove one, move the undated one into a folder named by its date (YYYYMMDD), or name "
            "the dumps to use by a glob."
        )
    older = sorted({str(dump.dump_date) for dump in dumps} - {newest.dump_date})
    if older:
        logger.info("%s: using the dump of %s, not %s", newest.language, newest.dump_date, ", ".join(older))
    return [dump for dump in dumps if dump.dump_date == newest.dump_date]


def _choose_forms(dumps: Iterable[DumpFile]) -> list[DumpFile]:
    """Choose one form of each edition (`20240101`, `latest`, `mini`), with its parts in order."""
    editions: dict[str, dict[tuple[bool, bool], list[tuple[DumpFile, re.Match[str]]]]] = defaultdict(dict)
    chosen = []
    for dump in dumps:
        match = _NAME.fullmatch(dump.path.name)
        if match is None:
            chosen.append(dump)
            continue
        form = (bool(match["part"] or match["pages"]), not match["multistream"])
        editions[match["edition"] or ""].setdefault(form, []).append((dump, match))
    for _, forms in sorted(editions.items()):
        parts: dict[tuple[int, int, str], tuple[int, DumpFile]] = {}
        for dump, match in forms[min(forms)]:
            first_page = int(re.findall(r"\d+", match["pages"])[0]) if match["pages"] else 0
            # Prefer the multistream form that Wikimedia publishes, then the compression that is fastest to read.
            slowness = {"bz2": 0 if match["multistream"] else 4, "plain": 1, "zst": 2, "gz": 3}[
                dump.compression
            ]
            key = (int(match["part"] or 0), first_page, match["rest"] or "")
            parts[key] = min(parts.get(key, (slowness, dump)), (slowness, dump), key=lambda choice: choice[0])
        chosen.extend(dump for _, (_, dump) in sorted(parts.items(), key=lambda item: item[0]))
    return chosen


def find_wikidata(source: str | Path, form: WikidataForm = "json") -> Path:
    """Find the newest Wikidata dump, in the compression that is fastest to read.

    The source is a folder (searched recursively), a glob or a file; the form is all of Wikidata, or truthy statements.

    Raises:
        EaseError: There is no dump, or the newest of several is unclear, for example if one has no date.
    """
    name, in_words = _WIKIDATA_NAMES[form]
    files = list_files(source, name.fullmatch, in_words)
    dates = {file: dump_date(file) for file in files}
    newest = max((date for date in dates.values() if date), default=None)
    # A file without a date may be newer than the newest date.
    files = [file for file, date in dates.items() if date in (None, newest)]
    if len({re.sub(r"\.(bz2|gz|zst)$", "", str(file)) for file in files}) > 1:
        names = ", ".join(str(file) for file in files)
        raise EaseError(f"{source} has several Wikidata dumps ({names}): set the source to one of them.")
    return min(files, key=lambda file: FASTEST_FIRST.index(compression_of(file)))
