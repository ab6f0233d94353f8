"""Versions of the code behind results that are reused from run to run; results of another version are not reused.

Raise a number when the same input now gives another result. Parsed parts, the sample, trainings, embeddings and mined
sentences are stale when their own number has changed; tables, students and scores, when the package's version or any
number has.
"""

import ease

WIKIPEDIA_PARTS = 4  # sentences, redirects and pages, parsed from a dump
WIKIDATA_PARTS = 1  # sitelinks and entity types, parsed from Wikidata's JSON dump
TRUTHY_PARTS = 1  # entity types, parsed from Wikidata's truthy statements
PAGE_PROPS_PARTS = 1  # items of pages, parsed from a table page_props
RELEASED_PARTS = 1  # tables read from released pairs
SAMPLE_WIKI = 1  # the sample wiki with its Wikidata, its test sentences and its training texts
SAMPLE_NEWS = 1  # the sample Wikinews
TRAINING = 4  # checkpoints and results of trainings
BITEXT = 1  # mined parallel sentences of two languages
EMBEDDINGS = 4  # cached embeddings of evaluation sets
TABLES = 1  # tables that nodes compute from other tables
SCORES = 1  # scores of evaluation tasks, and students


def code_version() -> str:
    """Return the package's version with the sum of the numbers, which only grow: `0.1.0+24`."""
    numbers = (value for name, value in globals().items() if name.isupper())
    return f"{ease.__version__}+{sum(numbers)}"
