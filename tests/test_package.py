"""The wheel and the source archive: built here, and the wheel installed into an environment of its own."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import painless
from tests.extras import library

ROOT = Path(__file__).parent.parent
NAME = f"painless_cmdp-{painless.__version__}"


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """A folder with both archives."""
    library("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_the_wheel_has_what_the_package_needs(dist):
    with zipfile.ZipFile(dist / f"{NAME}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        metadata = Parser().parsestr(wheel.read(f"{NAME}.dist-info/METADATA").decode())
    package = ROOT / "src" / "painless"
    tracked = {
        f"painless/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert tracked <= names
    assert "painless/py.typed" in names
    assert {name.split("/")[0] for name in names} == {"painless", f"{NAME}.dist-info"}
    assert f"{NAME}.dist-info/licenses/LICENSE" in names
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    assert set(metadata.get_all("Provides-Extra")) == {*project_table()["optional-dependencies"]}


def test_the_source_archive_has_sources_and_tests(dist):
    with tarfile.open(dist / f"{NAME}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src/painless/__init__.py"} <= names
    assert {"tests/conftest.py", "constraints.txt", "Makefile"} <= names


def test_the_wheel_answers_in_an_environment_of_its_own(dist, tmp_path):
    """Installed without the network; dependencies come from this environment, but not this checkout."""
    venv.create(tmp_path / "clean", with_pip=False, symlinks=os.name != "nt")
    scheme = {"base": str(tmp_path / "clean"), "platbase": str(tmp_path / "clean")}
    site = Path(sysconfig.get_path("purelib", "venv", vars=scheme))
    with zipfile.ZipFile(dist / f"{NAME}-py3-none-any.whl") as wheel:
        wheel.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = Path(sysconfig.get_path("scripts", "venv", vars=scheme)) / "python"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*command):
        done = subprocess.run(
            [python, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    where = run("-c", "import painless; print(painless.__file__)").strip()
    assert Path(where).resolve().is_relative_to(site.resolve())
    assert "1.65272" in run("-m", "painless", "solve", "gridworld")


def project_table():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_extra_that_a_message_names_exists():
    """What a message or a page tells people to install is an extra, and has the library that was missing."""
    extras = project_table()["optional-dependencies"]
    texts = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {
        extra
        for path in texts
        for found in re.findall(r"painless-cmdp\[(\w+(?:,\w+)*)\]", path.read_text(encoding="utf-8"))
        for extra in found.split(",")
    }
    assert {"deep", "dask", "slurm", "frames", "umb", "onnx"} <= named <= extras.keys()
    needed = {"deep": "torch", "dask": "distributed", "slurm": "dask-jobqueue", "onnx": "onnx", "umb": "umbi"}
    for extra, library_name in {**needed, "frames": "pandas", "pandas": "pandas", "polars": "polars"}.items():
        assert any(one.startswith(f"{library_name}>=") for one in extras[extra]), extra
    assert any(one.startswith("pyarrow>=") for one in extras["frames"])  # .parquet


def test_the_changelog_begins_with_this_version():
    """One edit cuts a release: "(unreleased)" becomes the date."""
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    version = re.escape(painless.__version__)
    assert re.fullmatch(rf"{version} \((unreleased|\d{{4}}-\d\d-\d\d)\)", headings[0])


def test_every_lower_bound_is_tried():
    """`constraints-lowest.txt` pins each dependency to the bound that `pyproject.toml` states."""
    project = project_table()
    extras = project["optional-dependencies"]
    listed = {line for name, lines in extras.items() if name not in ("dev", "docs") for line in lines}
    bounds = dict(line.split(">=") for line in {*project["dependencies"], *listed})
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    assert bounds.keys() == pins.keys()
    for name, bound in bounds.items():
        assert f"{pins[name]}.".startswith(f"{bound}."), name
