"""Sample Wikinews in the 16 languages of MewsC-16, with the expected result for each page."""
