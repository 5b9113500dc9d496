"""The command line. One thin file per command; heavy imports happen inside them."""

from rung.cli.app import main

__all__ = ["main"]
