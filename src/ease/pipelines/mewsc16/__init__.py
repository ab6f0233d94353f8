"""Build MewsC-16 from Wikinews dumps, and compare its statistics with the paper's."""
