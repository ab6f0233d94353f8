"""Configuration of the documents' site (`make docs`)."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import ease

ROOT = Path(__file__).parents[1]
PAGES = {"README": "start", "CONTRIBUTING": "contributing", "CHANGELOG": "changelog", "conf/README": "configuration"}
"""Documents outside this folder, and the pages that include them."""

LISTED = (
    *("entities", "evaluation", "methods", "similarity", "texts"),
    *("encoders/api.py", "search/engine.py", "training/api.py", "training/sentence_transformers.py"),
    *("wikimedia/template_pages.py", "wikimedia/wikipedia.py", "wikimedia/wikitext/parser.py"),
)
"""Packages of `ease`, and the modules of its public names, that the reference describes"""
CODE = ROOT / "src" / "ease"

project = "EASE"
copyright = ""
release = version = ease.__version__

extensions = ["myst_nb", "sphinx.ext.apidoc", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["README.md"]  # the list of documents for readers of the repository; index.md is the site's

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"EASE {release}"
html_show_sourcelink = html_show_copyright = False
myst_heading_anchors = 4
nb_execution_mode = "off"  # `make docs-notebooks` has run them
nb_render_markdown_format = "myst"  # has tables

apidoc_modules = [
    {
        "path": "../src/ease",
        "destination": "reference",
        "exclude_patterns": [
            f"../{path.relative_to(ROOT)}"
            for path in CODE.rglob("*")
            if not any(path.is_relative_to(CODE / one) or (CODE / one).is_relative_to(path) for one in LISTED)
            and path.name != "__init__.py"
        ],
        "max_depth": 2,
    }
]
default_role = "code"  # docstrings mark code by single backticks
autodoc_mock_imports = ["triton"]  # where there is no GPU
autodoc_typehints = "description"
autodoc_use_type_comments = False  # there are none; looking for them takes a fifth of the time
autodoc_member_order = "bysource"
autodoc_default_options = {"ignore-module-all": True}  # names are documented where they are defined
napoleon_use_ivar = True  # "Attributes:" beside annotated fields
suppress_warnings = ["ref.python"]  # several classes have a field of one name


class RepositoryLinks(SphinxTransform):
    """Resolve links to files outside this folder: to the page that includes a document, or to a copy of the file."""

    default_priority = 5

    def apply(self, **_: Any) -> None:
        """Replace the links of one page."""
        for link in list(self.document.findall(addnodes.pending_xref)):
            if link.get("reftype") == "myst":
                self._resolve(link)

    def _resolve(self, link: addnodes.pending_xref) -> None:
        target = str(link["reftarget"]).removesuffix(".md").removeprefix(f"{ROOT}/").removeprefix("../")
        if target in PAGES:
            link["refdomain"], link["reftarget"] = "doc", PAGES[target]
            link.setdefault("reftargetid", None)
        elif link["refdomain"] is None and (ROOT / target).is_file():
            copied = addnodes.download_reference(
                "", "", *link.children, reftarget=f"../{target}", refdoc=self.env.docname
            )
            link.replace_self(copied)


class Concepts(SphinxTransform):
    """Add the headings of the concepts to the index, whose main entries the search shows first."""

    default_priority = 900

    def apply(self, **_: Any) -> None:
        """Add the entries of one page."""
        if self.env.docname != "concepts":
            return
        for section in list(self.document.findall(nodes.section)):
            heading = section[0].astext()
            section.insert(1, addnodes.index(entries=[("single", heading, section["ids"][0], "main", None)]))


def skip_requests(_app: Sphinx, _kind: str, name: str, *_: Any) -> bool | None:
    """Exclude the methods that scikit-learn adds to its estimators."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app: Sphinx) -> None:
    """Add the transforms and the filter."""
    gc.set_threshold(100_000)  # the many nodes of the pages stay until the end
    app.add_transform(RepositoryLinks)
    app.add_transform(Concepts)
    app.connect("autodoc-skip-member", skip_requests)
