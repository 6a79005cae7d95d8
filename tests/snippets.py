"""What stands in the documents between fences, run: Python, sessions with errors, and commands with their output.

The conventions, for whoever writes a page:

- ```python blocks run in order and share their names. A ```text block right after one is what it prints.
- ```pycon blocks are sessions, run as doctests; an error message that a page quotes stands in one.
- ```console blocks hold `$ painless …` commands with their output; they run too.
- ```sh blocks are only read: the options of their `painless` lines must exist.
- <!-- about --> before a block lets its numbers be off by a tenth, <!-- not run --> leaves it alone,
  <!-- file NAME --> saves it under a name in place of running it.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

from painless import cli

FENCE = re.compile(
    r"^(?:<!-- (about|not run|file [\w.]+) -->\n+)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
EXACT, ABOUT = 1e-4, 0.1


@dataclass(frozen=True)
class Block:
    """One fenced block; `follows` says whether nothing stands between it and the one before."""

    language: str
    body: str
    mark: str
    follows: bool
    span: tuple[int, int]  # of the body, in the page

    @property
    def tolerance(self):
        return ABOUT if self.mark == "about" else EXACT


def blocks(text):
    """Return the fenced blocks of a page, in order."""
    found, end = [], 0
    for match in FENCE.finditer(text):
        follows = not text[end : match.start()].strip()
        found.append(Block(match[2], match[3], match[1] or "", follows and end > 0, match.span(3)))
        end = match.end()
    return found


def difference(shown, printed, tolerance=EXACT):
    """Return what differs between the output shown and the one printed, or None: spaces and clocks do not count."""
    shown, printed = map(_plain, (shown, printed))
    if "..." in shown:
        pattern = ".*".join(map(re.escape, shown.split("...")))
        return None if re.fullmatch(pattern, printed, re.DOTALL) else f"{shown!r} is not {printed!r}"
    if NUMBER.split(shown) != NUMBER.split(printed):
        return f"{shown!r} is not {printed!r}"
    for a, b in zip(_numbers(shown), _numbers(printed), strict=True):
        if not np.isclose(a, b, rtol=tolerance, atol=1e-9):
            return f"{a} is not {b}, in {printed!r}"
    return None


def _plain(text):
    text = re.sub(r"[\d.]+ s\b", "_ s", text)
    text = re.sub(r"\d+ iterations, _ s", "_ iterations, _ s", text)
    lines = (re.sub(r"[ ━─]+", " ", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _numbers(text):
    return [float(number.replace("−", "-")) for number in NUMBER.findall(text)]


def run_python(code, names, origin):
    """Run a block and return what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, origin, "exec"), names)
    return printed.getvalue()


def run_session(code, names, origin):
    """Run a session; return the failures as text."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(code, names, origin, origin, 0)
    failures = io.StringIO()
    doctest.DocTestRunner(optionflags=flags).run(test, out=failures.write, clear_globs=False)
    names.update(test.globs)
    return failures.getvalue()


def commands(code):
    """Yield each command of a block with the output shown below it."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def run_command(command):
    """Run `painless …` in this process; return what it printed, errors included."""
    printed = io.StringIO()
    arguments = shlex.split(command, comments=True)
    assert arguments[0] == "painless", f"only painless runs in a console block, not {command}"
    with (
        patch.object(sys, "argv", arguments),
        patch.dict(os.environ, {"COLUMNS": "80", "NO_COLOR": "1"}),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        contextlib.suppress(SystemExit),
    ):
        cli.main()
    return printed.getvalue()


def run_page(page):
    """Run everything on a page, in order; yield each block with what it printed, or with what is wrong."""
    names, printed = {}, None
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{page.name}: {block.body.splitlines()[0] if block.body else ''}"
        if block.mark == "not run":
            continue
        if block.mark.startswith("file "):
            Path(block.mark.removeprefix("file ")).write_text(block.body, encoding="utf-8")
            continue
        if block.language == "python":
            printed = run_python(block.body, names, str(page))
            yield block, printed, None
        elif block.language == "text" and block.follows and printed is not None:
            yield block, printed, difference(block.body, printed, block.tolerance)
        elif block.language == "pycon":
            yield block, "", run_session(block.body, names, where) or None
        elif block.language == "console":
            whole, wrong = "", None
            for command, shown in commands(block.body):
                output = run_command(command)
                whole += f"$ {command}\n{output}"
                wrong = wrong or difference(shown, output, block.tolerance)
            yield block, whole, wrong
        if block.language != "python":
            printed = None
