"""Kedro's settings: those of the library, which can be replaced or extended here."""

from ease.settings import *  # noqa: F403
