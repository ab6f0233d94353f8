"""Analyses of embedding spaces, one file each."""
