"""The command line: arguments to objects, objects to tables; no logic of its own. A file for each command."""

from painless.cli.app import app, main

__all__ = ["app", "main"]
