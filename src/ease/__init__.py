"""EASE: sentence embeddings that work across languages, learnt from Wikipedia's links and Wikidata's entities."""

__version__ = "0.1.0"
