"""Teach an encoder a language from its Wikipedia, and report what was gained and lost."""
