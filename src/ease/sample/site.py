"""Sample wikis as MediaWiki sites, with localised namespaces from `namespaces.yml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ease.io.data_files import read_data_file
from ease.wikimedia.languages import Language

_NUMBERS = (-2, -1, *range(1, 16))


@dataclass(frozen=True)
class Site:
    """A wiki's namespaces by number (0, articles, has an empty name), and its redirect keyword."""

    language: str
    names: Mapping[int, str]
    redirect_keyword: str
    project: str = "wikipedia"

    @property
    def dbname(self) -> str:
        """Name of the wiki's database, the beginning of its dumps' names."""
        return Language(self.language).database + ("wiki" if self.project == "wikipedia" else self.project)

    @property
    def address(self) -> str:
        """Beginning of the addresses of its pages."""
        return f"https://{self.language}.{self.project}.org/wiki/"


@cache
def read_site(language: str) -> Site:
    """Read a Wikipedia's names, as they are in its `<siteinfo>`."""
    content = read_data_file("ease.sample", "namespaces.yml")[language]
    names = dict(zip(_NUMBERS, content["names"], strict=True))
    return Site(language, {0: "", **names}, content["redirect"])
