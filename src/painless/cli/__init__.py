"""The command line: parses arguments and prints results, without logic of its own. One file per command."""

from painless.cli.app import app, main

__all__ = ["app", "main"]
