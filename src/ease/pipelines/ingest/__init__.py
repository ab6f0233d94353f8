"""Parse dumps into sentences, links, redirects, sitelinks and entity types."""
