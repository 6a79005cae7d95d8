"""The documents: their Python runs, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_in_the_documents_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_readme_shows_what_the_code_prints(capsys):
    (code, *_), (shown, *_) = blocks(ROOT / "README.md", "python"), blocks(ROOT / "README.md", "text")
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out

    def but_for_the_clock(text):
        return re.sub(r"[\d.]+ s\)", "s)", re.sub(r"gap is .*", "gap is", text)).strip()

    assert but_for_the_clock(printed) == but_for_the_clock(shown)
