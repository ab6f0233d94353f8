"""Versions of the code behind results that are reused from run to run; results of another version are not reused.

Raise a number when its code gives another result for the same input. `tests/io/test_result_versions.py` fails when the
meaning of that code has changed, and says how to record a change that leaves the results equal.
"""

WIKIPEDIA_PARTS = 4
"""Sentences, redirects and pages, parsed from a dump."""

WIKIDATA_PARTS = 1
"""Sitelinks and entity types, parsed from Wikidata's JSON dump."""

TRUTHY_PARTS = 1
"""Entity types, parsed from Wikidata's truthy statements."""

PAGE_PROPS_PARTS = 1
"""Items of pages, parsed from a table page_props."""

RELEASED_PARTS = 1
"""Tables read from released pairs."""

SAMPLE_WIKI = 1
"""The sample wiki with its Wikidata, its test sentences and its training texts."""

SAMPLE_NEWS = 1
"""The sample Wikinews."""

TRAINING = 4
"""Checkpoints and results of trainings."""

BITEXT = 1
"""Mined parallel sentences of two languages."""

EMBEDDINGS = 4
"""Cached embeddings of evaluation sets."""
