"""Pages from plain data: frontiers as their JSON has them, one policy, learning curves, and tables.

A page is one file of HTML from a template: everything is escaped, and it makes no requests.

The page's Content-Security-Policy allows no request at all, and only the scripts that `render` itself put there, each by
its hash. Text cannot become a script: it is escaped, and no hash would allow it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from painless.common.errors import InputError
from painless.common.render import counted, distinct_numbers, number, visible
from painless.storage import files

if TYPE_CHECKING:
    from markupsafe import Markup

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
ALLOWED = "@scripts@"  # stands in the policy of page.html until the scripts are known


def build_page(
    title: str,
    subtitle: str = "",
    *,
    summary: Mapping[str, Any] | None = None,
    frontiers: Sequence[Mapping[str, Any]] = (),
    fixed: Mapping[str, Any] | None = None,
    groups: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return a page.

    Arguments:
        title: and `subtitle`, the head of the page.
        summary: a `title`, a `status`, and a table as `header` and `rows` of text.
        frontiers: of one problem, each as `Frontier.as_dict` gives it; they bring the slider.
        fixed: where there are no frontiers, one policy as a frontier with a single vertex.
        groups: curves and tables under a `title`: `panels` for `painless.report.curves`, and `tables`.
    """
    import painless

    # Without running times the same answer gives the same page.
    timeless = [{key: one[key] for key in one if key != "seconds"} for one in frontiers]
    panels = [panel for group in groups for panel in group.get("panels", ())]
    numbered, count = [], 0
    for group in groups:
        own = len(group.get("panels", ()))
        numbered.append({"text": "", "tables": (), **group, "panels": list(range(count, count + own))})
        count += own
    return render(
        "page.html",
        title=title,
        subtitle=subtitle,
        version=painless.__version__,
        page={"frontiers": timeless, "fixed": fixed, "panels": panels},
        summary=summary,
        groups=numbered,
        number=number,
        distinct_numbers=distinct_numbers,
    )


def frontier_page(frontiers: Sequence[Mapping[str, Any]], title: str) -> str:
    """Return the page of one or more frontiers of a problem."""
    return build_page(title, about(frontiers[0]), frontiers=frontiers)


def about(data: Mapping[str, Any]) -> str:
    """Return the size of a problem in words.

    >>> about({"states": 25, "actions": 4, "discount": 0.9, "constraints": [{}]})
    '25 states, 4 actions, 1 constraint, discount 0.9'
    """
    horizon = data.get("horizon")
    counts = [
        (data["states"] // max(horizon or 1, 1), "state"),
        (data["actions"], "action"),
        (len(data["constraints"]), "constraint"),
    ]
    sizes = [counted(count, noun) for count, noun in counts]
    if horizon is not None:
        sizes.append(f"horizon {horizon}")
    if data.get("average"):
        return ", ".join([*sizes, "long-run average"])
    known = data["discount"] == data["discount"]  # unknown for a saved solution without its problem
    if known and data["discount"] != 1:
        sizes.append(f"discount {data['discount']:g}")
    elif known and horizon is None:
        sizes.append("total reward")
    return ", ".join(sizes)


def framed_frontier(data: Mapping[str, Any], height: int = 760) -> str:
    """Return the page of a frontier in a frame, for notebooks: it keeps its own style, and cannot reach the notebook."""
    from markupsafe import escape

    title = f"Frontier of {data['constraints'][data['constraint']]['name']}"
    return render("frame.html", page=escape(frontier_page([data], title)), title=title, height=height)


def render(template: str, **context: Any) -> str:
    """Return a page from a template; `script`, `data` and `asset` in it put in what belongs to the page.

    `{{ script("name.js") }}` is a script of `assets`, `{% call script() %}…{% endcall %}` one in the template,
    `{{ data("id", value) }}` plain data for scripts to read, and `{{ asset("name.css") }}` the text of a file of `assets`.

    >>> render("frame.html", title="1 < 2", page="", height=9)[:29]
    '<iframe title="1 &lt; 2" sand'
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
    tools = {"script": script, "data": data_block, "asset": asset}
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
def asset(name: str) -> Markup:
    """Return the text of a file of `assets`."""
    from markupsafe import Markup

    return Markup((HERE / "assets" / name).read_text(encoding="utf-8"))


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
