"""Self-contained HTML from templates: everything is escaped, and the page makes no requests.

The page's Content-Security-Policy allows no request at all, and only the scripts that `render` itself put there, each by
its hash. Text cannot become a script: it is escaped, and no hash would allow it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from painless.common.errors import InputError
from painless.common.render import visible
from painless.storage import files

if TYPE_CHECKING:
    from markupsafe import Markup

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
ALLOWED = "@scripts@"  # stands in the policy of base.html until the scripts are known


def render(template: str, **context: Any) -> str:
    """Return a page from a template; `script`, `data` and `style` in it put in what belongs to the page.

    `{{ script("name.js") }}` is a file of `assets`, `{% call script() %}…{% endcall %}` a script in the template,
    `{{ data("id", value) }}` plain data for scripts to read, and `{{ style("name.css") }}` a file of `assets`.

    >>> "<h1>1 &lt; 2</h1>" in render("base.html", title="1 < 2")
    True
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    hashes: list[str] = []

    def script(*names: str, caller: Callable[[], str] | None = None) -> Markup:
        body = "\n".join(asset(name) for name in names)
        text = f"(() => {{\n'use strict';\n{body}\n}})();" if caller is None else str(caller())
        hashes.append(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")
        return Markup(f"<script>{text}</script>")

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    tools = {"script": script, "data": data_block, "style": style}
    page = environment.get_template(template).render(**tools, **context)
    added = len(re.findall(r"<script>", page)) - len(hashes)
    if added:  # in another way: no browser would run it
        raise RuntimeError(
            f"{added} script(s) would be blocked by the page's policy; put them in with script()"
        )
    return page.replace(ALLOWED, " ".join(dict.fromkeys(hashes)) or "'none'", 1)


def _shown(value: Any) -> Any:
    """Return text with its control characters visible; a browser would hide them, and reject some."""
    return visible(value) if type(value) is str else value


@cache
def asset(name: str) -> str:
    """Return the text of a file of `assets`."""
    return (HERE / "assets" / name).read_text(encoding="utf-8")


def style(*names: str) -> Markup:
    """Return style sheets of `assets`."""
    from markupsafe import Markup

    body = "\n".join(asset(name) for name in names)
    return Markup(f"<style>\n{body}</style>")


def data_block(name: str, value: Any) -> Markup:
    r"""Return data as JSON in a block that is not a script, in which no text can end the block.

    >>> data_block("data", {"name": "</script>"})
    Markup('<script type="application/json" id="data">{"name":"\\u003c/script\\u003e"}</script>')
    """
    from markupsafe import Markup, escape

    text = json.dumps(plain(value, _shown), separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup('<script type="application/json" id="{}">{}</script>').format(escape(name), Markup(text))


def write_page(page: str, path: str | os.PathLike[str]) -> Path:
    """Write a page as one file, whole or not at all."""
    if Path(path).suffix != ".html":
        raise InputError(f"{path} must end in .html")
    return files.write_atomically(path, lambda stream: stream.write(page.encode()))


def embedded(content: bytes | str, kind: str) -> str:
    """Return content as an address that holds it, to download it from a page."""
    given = content.encode() if isinstance(content, str) else content
    return f"data:{kind};base64,{base64.b64encode(given).decode()}"


def plain(value: Any, text: Callable[[str], Any] = str) -> Any:
    """Return data that JSON can hold: arrays as lists, null for numbers that are not finite, and strings converted by `text`."""
    if isinstance(value, dict):
        return {str(key): plain(one, text) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), text)
    if isinstance(value, list | tuple):
        return [plain(one, text) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return text(value) if isinstance(value, str) else value
