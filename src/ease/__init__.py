"""EASE: sentence encoders that work across languages, trained on Wikipedia's links and Wikidata's entities.

The names below work without Kedro. Each is imported when it is first used, so that `import ease` stays fast.
"""

from typing import TYPE_CHECKING, Any

from ease.lazy import import_or_advise

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ease.encoders.api import load
    from ease.errors import EaseError
    from ease.evaluation.api import evaluate
    from ease.search.engine import open_search
    from ease.training.api import train
    from ease.training.sentence_transformers import EntityContrastiveLoss
    from ease.wikimedia.template_pages import read_templates
    from ease.wikimedia.wikipedia import read_dump
    from ease.wikimedia.wikitext.parser import parse_wikitext

_MODULES = {
    "EaseError": "ease.errors",
    "EntityContrastiveLoss": "ease.training.sentence_transformers",
    "evaluate": "ease.evaluation.api",
    "load": "ease.encoders.api",
    "open_search": "ease.search.engine",
    "parse_wikitext": "ease.wikimedia.wikitext.parser",
    "read_dump": "ease.wikimedia.wikipedia",
    "read_templates": "ease.wikimedia.template_pages",
    "train": "ease.training.api",
}
"""Module of each public name."""

__all__ = [
    "EaseError",
    "EntityContrastiveLoss",
    "__version__",
    "evaluate",
    "load",
    "open_search",
    "parse_wikitext",
    "read_dump",
    "read_templates",
    "train",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_or_advise(_MODULES[name]), name)

    def __dir__() -> list[str]:
        """Return the public names, which tab completion offers."""
        return sorted(__all__)
