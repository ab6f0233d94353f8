"""Reading Wikipedia, Wikidata and Wikinews dumps."""
