"""Publish a trained encoder, or MewsC-16, as a folder for the Hugging Face hub."""
