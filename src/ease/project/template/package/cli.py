"""This project's commands: those of the library, such as `kedro parameters`; add your own to the group."""

from ease.cli import cli as cli
