"""Pages from plain data: frontiers as their JSON has them, one policy, learning curves, and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from painless.common.render import counted, distinct_numbers, number
from painless.report.html import render


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
