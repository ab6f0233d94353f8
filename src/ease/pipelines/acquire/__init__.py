"""Locate or download the dumps; generate the sample wiki if the source is `sample:`."""
