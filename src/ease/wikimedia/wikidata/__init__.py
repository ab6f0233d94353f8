"""Wikidata: sitelinks and entity types from the JSON dump, truthy statements or page_props tables."""
