"""docs/paper-map.md: every file, name and test that it has exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "paper-map.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and "`" in line
]
PLACES = sorted({place for row in ROWS for place in re.findall(r"`([^`]+: [^`]+)`", " ".join(row[1:]))})


def names(tree):
    """Return the names that a module defines, and those of its classes' members."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
    return found


@pytest.mark.parametrize("place", PLACES)
def test_what_the_map_names_exists(place):
    file, name = place.split(": ")
    assert name in names(ast.parse((ROOT / file).read_text(encoding="utf-8")))


def test_the_map_is_whole():
    """Each row has an item, a file and a test; all experiments and at least 59 items of the paper are there."""
    assert len(ROWS) >= 59
    assert all(len(row) == 3 and row[1].count("`") == row[2].count("`") == 2 for row in ROWS)
    assert all("`src/" in row[1] and "`tests/" in row[2] for row in ROWS)
    assert len({row[0] for row in ROWS}) == len(ROWS)
    experiments = {path.name for path in (ROOT / "src/painless/study/paper").glob("*.py")}
    named = {place.split(":")[0].rpartition("/")[2] for place in PLACES}
    helpers = {
        "__init__.py",
        "claims.py",
        "experiment.py",
        "gridworld_map.py",
        "pictures.py",
        "scale.py",
        "shared.py",
    }
    assert experiments - named == helpers | {"cartpole_bound.py"}
