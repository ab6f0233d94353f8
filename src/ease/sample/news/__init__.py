"""Sample Wikinews in the 16 languages of MewsC-16, with the expected result for each page."""

from ease.sample.news.writer import SampleNews, write_sample_news

__all__ = ["SampleNews", "write_sample_news"]
