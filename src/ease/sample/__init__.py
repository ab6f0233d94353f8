"""Sample wikis made from CLDR data: a small Wikipedia in 18 languages, its Wikidata dump, and a Wikinews."""

from ease.sample.news.writer import SampleNews, write_sample_news
from ease.sample.options import SampleNewsOptions, SampleOptions
from ease.sample.wiki import SampleFiles, write_sample

__all__ = ["SampleFiles", "SampleNews", "SampleNewsOptions", "SampleOptions", "write_sample", "write_sample_news"]
