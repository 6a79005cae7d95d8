"""Look through a built site: every link and picture inside it must lead somewhere, and nothing may be loaded from elsewhere.

`python docs/check_site.py docs/_build/html` prints what is wrong, and fails if anything is.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """The ids of a page, what it links to, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get(LOADED.get(tag, "")) and given.get("rel") not in ("search", "canonical"):
            self.loads.append(given[LOADED[tag]])


def problems(root):
    """Yield a line for each thing that is wrong."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    if not pages:
        yield f"{root} has no pages; build the site first"
    for path, page in pages.items():
        where = path.relative_to(root)
        for target in page.loads:
            if urlsplit(target).netloc:
                yield f"{where} loads {target} from the network"
        for target in (*page.links, *page.loads):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not aim.exists():
                yield f"{where} leads to {target}, which does not exist"
            elif parts.fragment and aim in pages and unquote(parts.fragment) not in pages[aim].ids:
                yield f"{where} leads to {target}, but there is no such place on that page"
    for path in sorted(root.rglob("*.css")):
        for target in re.findall(r"url\(\s*['\"]?(https?:[^)'\"]+)", path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(root)} loads {target} from the network"


def main(folder):
    """Print what is wrong; return how many things are."""
    found = list(problems(Path(folder).resolve()))
    for line in found:
        print(line, file=sys.stderr)
    return len(found)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
