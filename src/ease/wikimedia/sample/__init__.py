"""The sample wiki: a small Wikipedia in 18 languages with its Wikidata dump, made from CLDR's data."""

from ease.wikimedia.sample.options import SampleOptions
from ease.wikimedia.sample.writer import SampleFiles, write_sample

__all__ = ["SampleFiles", "SampleOptions", "write_sample"]
