"""What looks after the documents: the look through a built site, the runner of snippets, the pictures."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from tests import snippets
from tests.extras import library

DOCS = Path(__file__).parent.parent / "docs"
GALLERY = DOCS.parent / "examples" / "gallery"
CELLS = {
    "last_notebook_cell": None,
    "notebook_images": False,
    "pypandoc": False,
    "promote_jupyter_magic": False,
}


def tool(name):
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- the site


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('<a href="other.html#here">x</a> <a href="https://example.org">y</a> <a href="#top">z</a>', None),
        ('<a href="missing.html">x</a>', "which does not exist"),
        ('<a href="other.html#nowhere">x</a>', "no such place"),
        ('<img src="missing.png">', "which does not exist"),
        ('<script src="https://example.org/x.js"></script>', "from the network"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "from the network"),
    ],
)
def test_a_site_is_looked_through(body, complaint, tmp_path):
    (tmp_path / "index.html").write_text(f'<p id="top">{body}</p>', encoding="utf-8")
    (tmp_path / "other.html").write_text('<p id="here">there</p>', encoding="utf-8")
    found = list(tool("check_site").problems(tmp_path))
    assert len(found) == (complaint is not None)
    assert not complaint or complaint in found[0]


def test_style_sheets_load_nothing(tmp_path, capsys):
    (tmp_path / "index.html").write_text("<p>", encoding="utf-8")
    (tmp_path / "x.css").write_text("@font-face { src: url('https://example.org/x') }", encoding="utf-8")
    assert tool("check_site").main(tmp_path) == 1
    assert "x.css loads https://example.org/x" in capsys.readouterr().err


def test_an_empty_folder_is_no_site(tmp_path):
    assert "has no pages" in next(tool("check_site").problems(tmp_path))


# ---------------------------------------------------------------- the pictures


@pytest.mark.parametrize("name", ["cartpole", "gridworld", "maintenance"])
def test_pictures_are_drawn(name):
    pictures = tool("pictures")
    assert pictures.PICTURES[name]().axes
    assert {path.stem for path in pictures.FOLDER.glob("*.png")} == set(pictures.PICTURES)


def test_the_cover_is_drawn():
    assert len(tool("cover").draw().axes) == 4


def test_the_explorer_of_the_documentation_is_that_of_the_code(tmp_path):
    """Otherwise `python docs/cover.py` writes it anew."""
    fresh = tool("cover").explorer(tmp_path / "page.html")
    stored, made = (_data(path.read_text(encoding="utf-8")) for path in (DOCS / "explorer.html", fresh))
    assert _shape(stored) == _shape(made)
    for one, other in zip(_leaves(stored), _leaves(made), strict=True):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-6) if isinstance(one, float) else one == other


def _data(page):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    )


def _shape(value):
    if isinstance(value, dict):
        return {key: _shape(one) for key, one in value.items()}
    return [_shape(one) for one in value] if isinstance(value, list) else None


def _leaves(value):
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if parts is None:
        yield value
    else:
        for part in parts:
            yield from _leaves(part)


# ---------------------------------------------------------------- the gallery


@pytest.mark.parametrize("script", sorted(GALLERY.glob("plot_*.py")), ids=lambda path: path.stem)
def test_every_example_becomes_a_notebook(script):
    """That can be downloaded from the site: text in cells of its own, code that compiles, and figures that show."""
    parsing, notebook = (library(f"sphinx_gallery.{name}") for name in ("py_source_parser", "notebook"))
    _, blocks = parsing.split_code_and_text_blocks(str(script))
    found = notebook.jupyter_notebook(
        blocks, {**tool("conf").sphinx_gallery_conf, **CELLS}, str(script.parent)
    )
    kinds = [cell["cell_type"] for cell in found["cells"]]
    assert {"code", "markdown"} == {*kinds}
    code = ["".join(cell["source"]) for cell in found["cells"] if cell["cell_type"] == "code"]
    assert code[0].startswith("%pip install painless-cmdp")
    for cell in code[1:]:
        compile(cell, script.name, "exec")
    assert any("plt.show()" in cell or "figure  #" in cell for cell in code)


# ---------------------------------------------------------------- the snippets


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("value 1.5", "value   1.50001", True),
        ("value 1.5", "value 1.51", False),
        ("value 1.5", "price 1.5", False),
        ("by cbp (17 iterations, 0.39 s)", "by cbp (18 iterations, 12.1 s)", True),
        ("gap is 1.97e-14", "gap is 3.1e-16", True),
        ("gap is 1.97e-14", "gap is 3.1e-5", False),
        ("known: ... and b", "known: a, c and b", True),
        ("known: ... and b", "known: a, c and d", False),
        ("[1 2]", "[1]", False),
    ],
)
def test_what_counts_as_the_same_output(shown, printed, same):
    assert (snippets.difference(shown, printed) is None) == same


PAGE = """
```python
print({number})
```

```text
3
```

```pycon
>>> raise ValueError("{message}")
Traceback (most recent call last):
    ...
ValueError: no
```

```console
$ painless check {file}
Error: nothing.npz does not exist or is not a file; check the path
```
"""


@pytest.mark.parametrize(
    ("number", "message", "file", "wrong"),
    [
        (3, "no", "nothing.npz", []),
        (4, "no", "nothing.npz", ["text"]),
        (3, "yes", "nothing.npz", ["pycon"]),
        (3, "no", "something.npz", ["console"]),
    ],
)
def test_a_page_that_lies_is_found_out(number, message, file, wrong, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(number=number, message=message, file=file), encoding="utf-8")
    assert [block.language for block, _, complaint in snippets.run_page(page) if complaint] == wrong
