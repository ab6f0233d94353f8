"""The wikis as sites: their namespaces in their own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ease.io.data_files import read_data_file
from ease.wikimedia.languages import Language

_NUMBERS = (-2, -1, *range(1, 16))


@dataclass(frozen=True)
class Site:
    """A wiki's namespaces by number (0, the articles, has no name) and its keyword for redirects."""

    language: str
    names: Mapping[int, str]
    redirect_keyword: str
    project: str = "wikipedia"

    @property
    def dbname(self) -> str:
        """The name of the wiki's database, with which its dumps' names begin."""
        return Language(self.language).database + ("wiki" if self.project == "wikipedia" else self.project)

    @property
    def address(self) -> str:
        """What the addresses of its pages begin with."""
        return f"https://{self.language}.{self.project}.org/wiki/"


@cache
def read_site(language: str) -> Site:
    """A Wikipedia's names, as its `<siteinfo>` gives them."""
    content = read_data_file("ease.sample", "namespaces.yml")[language]
    names = dict(zip(_NUMBERS, content["names"], strict=True))
    return Site(language, {0: "", **names}, content["redirect"])
