"""Sample wikis made from CLDR data: a small Wikipedia in 18 languages, its Wikidata dump, and a Wikinews."""
