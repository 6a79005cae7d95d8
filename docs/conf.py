"""The site: `make docs` builds it, with warnings as errors and nothing from the network."""

import dataclasses
import inspect
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import painless  # noqa: E402

project = "painless"
author = "the painless authors"
project_copyright = "the painless authors, MIT licence"
version = release = painless.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = [
    "_build",
    "**/GALLERY_HEADER.rst",
    "sg_execution_times.rst",
    "gallery/sg_execution_times.rst",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
html_theme = "furo"
html_title = f"painless {version}"
html_extra_path = ["explorer.html"]  # a page that the library wrote, as it is
html_static_path = ["_static"]
html_css_files = ["painless.css"]
html_copy_source = False
myst_heading_anchors = 3
smartquotes_action = "D"  # dashes; P(s'|s, a) keeps its stroke
pygments_style, pygments_dark_style = "friendly", "monokai"

default_role = "py:obj"  # `solve` in a docstring becomes a link where there is something to link to
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
add_module_names = False
autodoc_type_aliases = {
    name: name
    for name in ("Array", "ArrayLike", "Mask", "Setting", "States", "Transition", "Rate", "Algorithm")
}


def figures_of_the_example(block, block_vars, gallery_conf):
    """Show every figure that an example holds in a variable and that pyplot knows nothing of."""
    from matplotlib.figure import Figure
    from sphinx_gallery.scrapers import figure_rst

    shown = block_vars["example_globals"].setdefault("__shown__", set())
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Figure) and getattr(value, "number", None) is None and id(value) not in shown:
            shown.add(id(value))
            paths.append(next(block_vars["image_path_iterator"]))
            value.savefig(paths[-1], dpi=110)
    return figure_rst(paths, gallery_conf["src_dir"])


sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "image_scrapers": ("matplotlib", "conf.figures_of_the_example"),
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "download_all_examples": True,  # as scripts and as notebooks
    "first_notebook_cell": "%pip install painless-cmdp\n%matplotlib inline",
    "ignore_repr_types": r"matplotlib\.figure\.Figure",  # its picture is shown
    "show_signature": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
}


FIELD = re.compile(r"^    (\w+): (.+?)(?: = (.+?))?(?:  # (.*))?$")


def fields_of(thing):
    """Return the fields of a dataclass or a NamedTuple that carry a comment, as lines of text."""
    if not (inspect.isclass(thing) and (dataclasses.is_dataclass(thing) or hasattr(thing, "_fields"))):
        return []
    found = [FIELD.match(line) for line in inspect.getsource(thing).splitlines()]
    texts = [(m[1], m[4]) for m in found if m and m[4] and not m[4].startswith(("noqa", "type"))]
    width = max((len(name) for name, _ in texts), default=0)
    return [f"    {name:{width}}  {text}" for name, text in texts]


SECTIONS = ("Arguments:", "References:")


def prose(line):
    """Escape bars, and keep what stands in backticks as it is unless it is a name, which may become a link."""
    line = re.sub(
        r"`([^`]+)`",
        lambda found: found[0] if re.fullmatch(r"\w[\w.]*", found[1]) else f"``{found[1]}``",
        line,
    )
    return re.sub(r"(``[^`]*``)|\|", lambda found: found[1] or r"\|", line)


def literal(lines):
    """Return lines as a block that stays as it is."""
    return ["", ".. code-block:: text", "", *lines, ""]


def section_of(lines):
    """Return the lines of a section as reStructuredText: a field for each argument, and references as they are."""
    title, *body = lines
    if title == "References:":
        return ["", *(line.strip() for line in [title, *body]), ""]
    fields = []
    for line in body:
        if found := re.match(r"    (\w[\w, ]*): (.*)", line):
            letter = "\\" if re.match(r"\w\.( |$)", found[2]) else ""  # "n." would begin a list
            fields.append(f":param {found[1]}: {letter}{found[2]}")
        elif line.strip():
            fields.append("    " + line.strip())
    return ["", *map(prose, fields), ""]


def plain_docstring(app, what, name, thing, options, lines):
    """Turn our plain docstrings into reStructuredText: what is indented is maths, and stays as it is."""
    paragraphs = re.split(r"\n(?:[ \t]*\n)+(?! {4})|\n(?=(?:Arguments|References):\n)", "\n".join(lines))
    shown = []
    for paragraph in paragraphs:
        own = paragraph.strip("\n").split("\n")
        if own[0] in SECTIONS:
            shown += section_of(own)
        elif own[0].startswith(">>>"):
            shown += ["", *own, ""]
        else:
            cut = next((i for i, line in enumerate(own) if line.startswith("    ")), len(own))
            shown += ["", *map(prose, own[:cut]), ""]
            shown += literal(own[cut:]) if cut < len(own) else []
    if texts := fields_of(thing):
        at = next((i for i, line in enumerate(shown) if line.startswith(">>>")), len(shown))
        shown[at:at] = literal(texts)
    lines[:] = shown


def shorter_signature(app, what, name, thing, options, signature, returned):
    """Leave out a signature that says nothing, and write type aliases by their names."""
    if not signature:
        return None
    if signature == "(*args, **kwargs)":
        return "", None
    alias = r"TypeAliasForwardRef\('(\w+)'\)"
    return re.sub(alias, r"\1", signature), returned and re.sub(alias, r"\1", returned)


def skip_fields(app, what, name, thing, skip, options):
    """Leave out what Python itself says of the fields of a NamedTuple; the signature has them."""
    return True if str(getattr(thing, "__doc__", "")).startswith("Alias for field") else None


def setup(app):
    """Connect the above."""
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("autodoc-process-signature", shorter_signature)
    app.connect("autodoc-skip-member", skip_fields)
