"""Wikitext: markup to prose and links, titles, namespaces, redirects and sentences."""
