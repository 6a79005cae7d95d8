"""The documents: their code runs and prints what they show, their errors are the code's, their links lead somewhere."""

import importlib
import inspect
import operator
import re
import shlex
from pathlib import Path

import pytest
import typer.main

import painless
from painless import cli
from painless.problems import REGISTRY, SIMULATORS
from tests import snippets
from tests.extras import library

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    if not {"_build", "gallery"} & set(page.relative_to(ROOT).parts)
)
PACKAGES = ("learners", "duals", "evaluators", "features", "planning", "engines", "problems", "environments")
PACKAGES = ("painless", *(f"painless.{name}" for name in (*PACKAGES, "study", "report")))
NEEDED = {"networks.md": ["torch"], "libraries.md": ["quantecon", "mdptoolbox"]}  # that pages import
NOT_SHOWN = {"EVALUATORS", "PLANNERS", "REGISTRY", "SIMULATORS", "duals", "learners"}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def text(page):
    return page.read_text(encoding="utf-8")


# ---------------------------------------------------------------- what stands on the pages is true


@each_page
def test_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    for name in NEEDED.get(page.name, ()):
        library(name)
    for table in page.parent.glob("*.csv"):  # data that stand beside the page
        (tmp_path / table.name).write_bytes(table.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # modules that a page saves
    for block, _, wrong in snippets.run_page(page):
        assert not wrong, f"{page.name}, {block.language}: {wrong}"


def test_examples_with_tables_are_short():
    blocks = snippets.blocks(text(DOCS / "tutorials" / "tables.md"))
    assert all(len(block.body.splitlines()) <= 10 for block in blocks if block.language == "python")


@each_page
def test_errors_are_quoted_only_where_they_are_run(page):
    """An error in a block that is not run could be out of date without anyone seeing it."""
    for block in snippets.blocks(text(page)):
        if block.language not in ("pycon", "console", "python") and block.mark != "not run":
            assert not re.search(r"^\w*(\.\w+)*Error: ", block.body, re.MULTILINE), (
                f"{page.name}: {block.body}"
            )


@each_page
def test_errors_in_the_text_are_those_of_the_code(page):
    """A message quoted in passing, such as `transition[3, 1] sums to 0.940000`, has the words of one that is run."""
    run = "\n".join(
        block.body
        for other in PAGES
        for block in snippets.blocks(text(other))
        if block.language in ("pycon", "console")
    )
    without_numbers = re.sub(r"\d+", "0", run)
    outside = snippets.FENCE.sub("", text(page))
    for quoted in re.findall(r"`(\w+\[[\d, ]+\] (?:is|sums) [^`]*)`", outside):
        assert re.sub(r"\d+", "0", quoted) in without_numbers, f"{page.name} quotes {quoted}"


@each_page
def test_commands_have_the_options_that_are_shown(page):
    commands = typer.main.get_command(cli.app).commands
    for block in snippets.blocks(text(page)):
        lines = block.body.splitlines() if block.language == "sh" and block.mark != "not run" else []
        for line in lines:
            words = shlex.split(line, comments=True)
            if words[:1] == ["painless"] and not words[1].startswith("-"):
                assert words[1] in commands, line
                known = {option for one in commands[words[1]].params for option in one.opts} | {"--help"}
                used = {word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
                assert used <= known, f"{page.name}: {line} has {used - known}"


@each_page
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)]+)?\)", text(page)):
        if (
            target.startswith(("http://", "https://", "mailto:")) or "gallery/" in target
        ):  # the gallery is built
            continue
        aim = page.parent / target if target else page
        assert aim.exists(), f"{page.name} links to {target}"
        if anchor and aim.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", text(aim), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
            assert anchor[1:] in slugs, f"{page.name} links to {target}{anchor}"


@each_page
def test_links_into_the_gallery_have_an_example(page):
    for name in re.findall(r"\]\([^)]*gallery/(plot_\w+)\.rst\)", text(page)):
        assert (ROOT / "examples" / "gallery" / f"{name}.py").exists()


def test_the_code_cites_no_page_that_a_wheel_does_not_have():
    cited = [path for path in (ROOT / "src").rglob("*.py") if "docs/" in text(path)]
    assert cited == []


# ---------------------------------------------------------------- nothing is missing


def test_every_page_is_on_the_site():
    """From the index, by the tables of contents, one gets to every page."""
    found, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page in found or not page.exists():
            continue
        found.add(page)
        for body in re.findall(r"^```\{toctree\}\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL):
            entries = [
                line.strip() for line in body.splitlines() if line.strip() and not line.startswith(":")
            ]
            todo += [page.parent / f"{entry}.md" for entry in entries]
    assert {page for page in PAGES if DOCS in page.parents} <= found


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_in_the_reference(name):
    page = DOCS / "reference" / f"{name.rpartition('.')[2]}.md"
    shown = set(re.findall(r"^\.\. auto\w+:: ([\w.]+)", text(page), re.MULTILINE))
    assert set(importlib.import_module(name).__all__) - NOT_SHOWN <= shown


def test_the_reference_shows_exactly_what_the_package_offers():
    offered = text(DOCS / "reference" / "painless.md").partition("## From the modules")[0]
    shown = re.findall(r"^\.\. auto\w+:: (\w+)$", offered, re.MULTILINE)
    assert sorted([*shown, "duals", "learners"]) == sorted(painless.__all__)


@pytest.mark.parametrize("page", sorted((DOCS / "reference").glob("*.md")), ids=lambda page: page.stem)
def test_every_name_in_the_reference_exists(page):
    """Found here within a second, and not only by the build of the site."""
    module = None
    for kind, name in re.findall(r"^\.\. (py:currentmodule|auto\w+):: ([\w.]+)", text(page), re.MULTILINE):
        if kind == "py:currentmodule":
            module = importlib.import_module(name)
        else:
            assert operator.attrgetter(name)(module), name


def test_every_command_is_in_the_reference():
    page = text(DOCS / "reference" / "cli.md")
    for name in typer.main.get_command(cli.app).commands:
        assert f"`painless {name}" in page, name


@pytest.mark.parametrize("name", sorted({*REGISTRY, *SIMULATORS} - {"gridworld-3"}))
def test_every_problem_has_a_page(name):
    """With a picture, its parameters, its source and known numbers."""
    page = text(DOCS / "problems" / f"{name}.md")
    picture = DOCS / "images" / "problems" / f"{name}.png"
    assert f"](../images/problems/{name}.png)" in page
    assert picture.stat().st_size > 1000
    make = (REGISTRY | SIMULATORS)[name]
    shown = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert shown == list(inspect.signature(make).parameters)
    for heading in ("## Parameters", "## Known numbers", "## Source"):
        assert heading in page
    assert f"({name}.md)" in text(DOCS / "problems" / "index.md")


@pytest.mark.parametrize("name", REGISTRY)
def test_every_problem_is_solved_to_the_same_value_in_every_way(name):
    problem = painless.make(name)
    ways = {painless.LinearProgram(): 1e-6, painless.ColumnGeneration(): 1e-6, painless.PRM(): 1e-3}
    exact, *found = (painless.solve(problem, way, tolerance=tolerance) for way, tolerance in ways.items())
    for solution, tolerance in zip((exact, *found), ways.values(), strict=True):
        assert solution.feasible
        assert solution.reward_value == pytest.approx(exact.reward_value, rel=3 * tolerance)
        assert solution.gap <= 3 * tolerance * max(abs(solution.upper_bound), 1e-6)
