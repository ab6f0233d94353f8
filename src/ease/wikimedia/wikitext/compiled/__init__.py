"""The functions that have a compiled form: that form where it was built, else the Python functions.

`_scanner.pyx` is compiled when the package is installed, if a C++ compiler works there (`hatch_build.py`). Both forms
give the same results, so the results of other runs stay valid.
"""

from __future__ import annotations

from ease.io.result_versions import WIKIPEDIA_PARTS

try:
    from ease.wikimedia.wikitext.compiled import _scanner

    if _scanner.WIKIPEDIA_PARTS != WIKIPEDIA_PARTS:
        raise ImportError("compiled from another version of the code")
    from ease.wikimedia.wikitext.compiled._scanner import (
        cut_sentences,
        cut_templates,
        join_blocks,
        normalize_gaps,
        sentences_of_links,
        skip_plain_links,
        strip_quotes,
    )

    IS_COMPILED = True
except ImportError:
    from ease.wikimedia.wikitext.markup import cut_templates, strip_quotes
    from ease.wikimedia.wikitext.prose import join_blocks, normalize_gaps
    from ease.wikimedia.wikitext.spans import cut_sentences, sentences_of_links, skip_plain_links

    IS_COMPILED = False

__all__ = [
    "IS_COMPILED",
    "cut_sentences",
    "cut_templates",
    "join_blocks",
    "normalize_gaps",
    "sentences_of_links",
    "skip_plain_links",
    "strip_quotes",
]
