"""The sample wiki: a miniature Wikipedia in 18 languages with its Wikidata dump, made from CLDR's names and facts."""

from ease.wikimedia.sample.options import SampleOptions
from ease.wikimedia.sample.writer import SampleFiles, write_sample

__all__ = ["SampleFiles", "SampleOptions", "write_sample"]
