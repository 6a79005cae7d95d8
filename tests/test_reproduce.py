"""The paper's experiments: the whole pipeline at a small scale, the rules that choose and judge, and what is refused."""

import base64
import csv
import gzip
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from painless import InputError
from painless.loop.averages import band
from painless.report.reproduction import write_report
from painless.study import Store
from painless.study.paper import EXPERIMENTS
from painless.study.paper.claims import Verdict, faster, judge, range_over_settings, robustness
from painless.study.paper.grids import TABLE_1
from painless.study.paper.pictures import Curve, Panel, coincident
from painless.study.paper.rates import _rate, slopes
from painless.study.paper.scale import FULL, QUICK, Scale
from painless.study.paper.selection import best, describe, qualifies
from painless.study.paper.yardstick import compare, interval
from painless.study.reproduce import cost, find_experiments, run_experiments
from painless.study.setting_results import SettingResults, distinct, read, select
from painless.study.targets import Target, target

DRAWN = {name for name in EXPERIMENTS if not name.startswith("table")}
PICTURES = DRAWN | {"lfa-dirichlet", "coreset-printed", "cartpole-bound"}


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A quick reproduction through the command line."""
    folder = tmp_path_factory.mktemp("reproduce")
    command = [
        sys.executable,
        "-m",
        "painless",
        "reproduce",
        "--quick",
        "--workers",
        "2",
        "--out",
        str(folder),
    ]
    return folder, subprocess.run(command, capture_output=True, text=True, check=True)


def table_of(path):
    """Return the rows of a CSV file."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_every_claim_is_judged(quick):
    folder, result = quick
    claims = json.loads((folder / "claims.json").read_text())
    assert len(claims) >= 12
    for claim in claims:
        assert {"id", "claim", "experiment", "verdict", "measured"} <= set(claim)
        assert claim["verdict"] in {verdict.value for verdict in Verdict}
        assert re.search(r"\d", claim["measured"])
        assert claim["id"] in result.stdout
    assert len({claim["id"] for claim in claims}) == len(claims)
    assert {claim["experiment"] for claim in claims} == DRAWN - {"gridworld-map"}
    assert {"coreset-lstdq", "algorithm-1", "rate-cbp", "rate-gda", "rate-cbp-cv", "rate-gda-cv"} <= {
        claim["id"] for claim in claims
    }
    assert "its numbers and verdicts mean nothing" in result.stdout


def test_every_figure_is_drawn(quick):
    from matplotlib.image import imread

    folder, _ = quick
    assert len(PICTURES) >= 11
    for name in PICTURES:
        image = imread(folder / "figures" / f"{name}.png")
        assert image.shape[0] > 300
        assert image[..., :3].std() > 0.05
        assert (folder / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        if name != "gridworld-map":
            rows = table_of(folder / "figures" / f"{name}.csv")
            assert list(rows[0])[:7] == ["experiment", "algorithm", "setting", "seed", "t", "OG", "CV"]
            assert {row["seed"] for row in rows} >= {"0", "1"}


def test_the_curves_are_the_stored_ones(quick):
    """A row of the CSV file is the running average of a stored unit."""
    folder, _ = quick
    rows = table_of(folder / "figures" / "mb-sensitivity.csv")
    (one,) = [
        row
        for row in rows
        if (row["algorithm"], row["setting"], row["seed"], row["t"]) == ("CBP", "α ≤ 2", "1", "30")
    ]
    settings = read(EXPERIMENTS["mb-sensitivity"].sweep(QUICK), Store(folder))
    (found,) = select(settings, name="cbp", alpha=1.0)
    assert float(one["OG"]) == pytest.approx(found.gap[1, -1], rel=1e-5)
    assert float(one["CV"]) == pytest.approx(found.violation[1, -1, 0], rel=1e-5)
    wide = table_of(folder / "figures" / "cartpole.csv")
    assert wide[0]["OG"] == ""
    assert float(wide[0]["return"]) > 0
    page = (folder / "report.html").read_text()
    packed = re.search(r'data:application/gzip;base64,([^"]+)" download="mb-sensitivity.csv.gz"', page)
    assert packed is not None
    text = gzip.decompress(base64.b64decode(packed.group(1))).decode()
    assert text.startswith("experiment,algorithm,setting,seed,t,OG,CV\n")
    assert (folder / "tables" / "table-1-1.tex").read_text().startswith(r"\begin{table}")


def test_the_report_holds_everything_and_asks_for_nothing(quick):
    folder, result = quick
    page = (folder / "report.html").read_text()
    for experiment in EXPERIMENTS.values():
        assert f'id="{experiment.id}"' in page
        assert experiment.title in page
    assert page.count("data:image/png;base64,") == len(PICTURES)
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page)
    assert "A quick run" in page
    assert "What it cost" in page
    assert "report.html" in result.stdout


def test_what_is_there_is_not_done_again(quick):
    folder, first = quick
    before = {path: path.stat().st_mtime_ns for path in (folder / "units").iterdir()}
    command = [sys.executable, "-m", "painless", "reproduce", "--quick", "--out", str(folder)]
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout == first.stdout
    assert before == {path: path.stat().st_mtime_ns for path in (folder / "units").iterdir()}


def test_costs_are_beside_the_results(quick):
    folder, _ = quick
    units, seconds = cost([EXPERIMENTS["mf-sensitivity"]], QUICK, Store(folder))
    assert units == len(EXPERIMENTS["mf-sensitivity"].sweep(QUICK).units) > 0
    assert 0 < seconds < 1000


def test_one_experiment_alone(tmp_path):
    (chosen,) = find_experiments(["mb-theory"])
    assert run_experiments([chosen], Scale(1, iterations=3), Store(tmp_path)) == []
    written = write_report([chosen], Scale(1, iterations=3), Store(tmp_path))
    assert [claim.id for claim in written.claims] == ["cbp-theory-poor"]
    assert sum(written.counts.values()) == 1


def test_unknown_experiments_are_refused():
    with pytest.raises(InputError, match="did you mean 'mb-best'"):
        find_experiments(["mb-bset"])


def test_the_grids_are_the_papers():
    """Units of each experiment: settings × seeds as the paper's appendices have them."""
    counts = {name: len(experiment.sweep(FULL).units) for name, experiment in EXPERIMENTS.items()}
    assert counts["mb-sensitivity"] == (9 + 4 * 5 + 6 * 2) * 5
    assert counts["mb-best"] == counts["mb-sensitivity"] + 5
    assert counts["mf-sensitivity"] == (9 + 20 + 6) * 5
    assert counts["mf-samples"] == 3 * 3 * 5
    assert counts["mb-discount"] == counts["mf-discount"] == 2 * 3 * 5
    assert counts["lfa-sensitivity"] == 3 * (10 + 20 + 6) * 5
    assert counts["lfa-dimension"] == counts["lfa-sensitivity"] + 3 * 3 * 5  # Dirichlet starts
    assert counts["coreset"] == (4 + 5) * 3 * 5 + 3 * 5  # as released and as printed
    assert counts["algorithm-1"] == 2 * 2 * 5 + 2
    assert counts["rates"] == 8 * 5 * 5
    assert counts["cartpole"] == 2 * (8 + 16 + 12) * 5 + 2 * 4 * 5  # U fixed, and U estimated
    assert counts["cartpole-entropy"] == 4 * (8 + 16 + 12) * 5
    assert {unit.iterations for unit in EXPERIMENTS["cartpole"].sweep(FULL).units} == {200}
    assert {unit.evaluator["samples"] for unit in EXPERIMENTS["mf-samples"].sweep(FULL).units} == {
        1000,
        2000,
        3000,
    }


def setting(algorithm, gaps, violations, optimum=1.0):
    """A setting whose OG and CV at every iteration are these, for two equal seeds."""
    gap, violation = np.array([gaps, gaps], dtype=float), np.array([violations, violations], dtype=float)
    reward = optimum - gap if np.isfinite(optimum) else gap
    return SettingResults(
        {},
        {"name": "exact"},
        algorithm,
        Target(optimum, np.full(1, np.nan), np.zeros(1), np.ones(2), ("risk",)),
        reward,
        -violation[..., None],
        np.zeros((*gap.shape, 1)),
    )


def test_the_papers_rule():
    close = setting({"name": "gda", "policy_rate": 1.0}, [0.5, 0.2], [0.0, -0.1])
    closer = setting({"name": "gda", "policy_rate": 2.0}, [0.5, 0.1], [0.0, -0.1])
    violating = setting({"name": "gda", "policy_rate": 3.0}, [0.5, -0.3], [0.0, 0.01])
    wasteful = setting({"name": "gda", "policy_rate": 4.0}, [0.5, 0.0], [0.0, -0.3])
    assert best([close, closer, violating, wasteful]) is closer
    assert best([violating, wasteful]) is violating
    assert [qualifies(one) for one in (close, closer, violating, wasteful)] == [True, True, False, False]
    sampled = [setting({"name": "cbp", "alpha": a}, [0, a], [0, -5], float("nan")) for a in (5.0, 8.0)]
    assert best(sampled) is sampled[1]


def test_alphas_up_to_two_are_one_setting():
    settings = [setting({"name": "cbp", "alpha": a}, [0.0], [0.0]) for a in (0.25, 1.0, 2.0, 5.0)]
    assert len(distinct(settings)) == 2
    assert describe({"name": "cbp", "alpha": 0.1}) == "α ≤ 2"
    assert describe(TABLE_1[1]) == "α_π = 1, α_λ = 0.1"


def test_verdicts():
    assert [judge(parts).value for parts in ([True], [True, False], [False])] == [
        "holds",
        "holds partly",
        "does not hold",
    ]
    steady = [setting({"name": "cbp", "alpha": a}, [1.0, 0.1 + a / 1000], [0, 0]) for a in (5.0, 8.0)]
    wild = [setting({"name": "gda", "policy_rate": a}, [1.0, a], [0, a]) for a in (0.1, 1.0)]
    np.testing.assert_allclose(range_over_settings(steady), [0.003, 0.003])
    groups = {"cbp": steady, "gda": wild, "crpo": []}
    claim = robustness("id", "experiment", "claim", groups)
    assert claim.verdict is Verdict.HOLDS
    assert "why" not in replace(claim, why="why").to_json()
    assert "0.9 ± 0 over 2 settings, largest CV +1" in claim.measured
    swapped = robustness("id", "experiment", "claim", {"cbp": wild, "gda": steady, "crpo": wild})
    assert swapped.verdict is Verdict.FAILS
    assert replace(swapped, why="why").to_json()["why"] == "why"
    slow = setting({"name": "gda", "policy_rate": 1.0}, [1.0, 0.5], [0, -0.1])
    race = faster("id", "experiment", "claim", {"": {"cbp": steady[0], "gda": slow}})
    assert race.verdict is Verdict.PARTLY  # equal at the start, ahead at the end
    assert "GDA 0.5 (clear)" in race.measured
    outside = faster("id", "experiment", "claim", {"": {"cbp": steady[0], "gda": wild[1]}})
    assert outside.verdict is Verdict.OPEN
    assert "cannot be judged by the paper's rule: GDA has CV +1 outside [-0.25, 0]" in outside.measured


def test_the_yardstick():
    """Welch's interval, against SciPy's test; equal values without spread are compared as they are."""
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.3, 3.0):
        a, b = rng.normal(size=5), rng.normal(size=7) * 2 + shift
        found, test = compare(a, b), stats.ttest_ind(a, b, equal_var=False)
        ends = test.confidence_interval()
        assert found.difference - found.half == pytest.approx(ends.low)
        assert found.difference + found.half == pytest.approx(ends.high)
        assert (found.less or found.more) == (test.pvalue < 0.05)
    assert compare(np.ones(5), 2 * np.ones(5)).word == "clear"
    assert compare(np.ones(1), 2 * np.ones(5)).word == "within noise"  # one seed says nothing
    worse = compare(np.array([1.04, 1.06]), np.array([1.0, 1.0]))
    assert worse.similar
    assert not compare(np.array([1.2, 1.2]), np.array([1.0, 1.0])).similar
    assert interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))[0] == pytest.approx(
        3 - 2.776 * np.sqrt(2.5 / 5), abs=1e-3
    )


def test_bands_are_students():
    values = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    assert band(values)[0] == pytest.approx(2.776 * values.std(ddof=1) / np.sqrt(5), rel=1e-3)


def test_curves_that_lie_on_each_other_are_named():
    def one(name, level):
        return Curve(name, f"{name.upper()} (α = 1)", np.full(5, level), np.zeros(5))

    panel = Panel("", "OG", (one("cbp", 1.0), one("gda", 1.0), one("crpo", 2.0)))
    assert coincident(panel) == [("CBP", "GDA")]
    assert coincident(Panel("", "OG", (one("cbp", 1.0), one("crpo", 2.0)))) == []


def test_rates_are_fitted_for_each_seed():
    horizons = [100, 400, 1600]
    falling = np.array([[1.0, 2.0], [0.5, 1.0], [0.25, 0.5]])
    np.testing.assert_allclose(slopes(horizons, falling), -0.5)
    assert slopes(horizons, falling - 0.3) is None
    assert _rate("id", "cbp", "OG", horizons, falling).verdict is Verdict.HOLDS
    assert _rate("id", "cbp", "OG", horizons, falling**0.2).verdict is Verdict.FAILS
    assert _rate("id", "cbp", "CV", horizons, np.zeros((3, 2))).verdict is Verdict.HOLDS
    assert "no slope is fitted" in _rate("id", "cbp", "CV", horizons, falling * [1.0, 0.0]).measured


def test_what_only_shows_results_is_no_other_source(tmp_path, monkeypatch):
    """Restyling a figure or a claim keeps stored units; a change of what runs a unit does not."""
    import painless
    from painless.study import store as store_module

    source = Path(painless.__file__).parent
    copy = tmp_path / "painless"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.pyc", "__pycache__"))
    monkeypatch.setattr(painless, "__file__", str(copy / "__init__.py"))
    digest = store_module.source_digest.__wrapped__
    before = digest()
    for name in ("study/paper/claims.py", "report/figures.py", "cli/reproduce.py"):
        (copy / name).write_text("changed")
        assert digest() == before
    (copy / "study" / "unit.py").write_text("changed")
    assert digest() != before


def test_targets_are_exact():
    assert target({"name": "gridworld", "discount": 0.8}).optimum == pytest.approx(0.730965, abs=1e-6)
    assert np.isnan(target({"name": "cartpole"}).optimum)
    assert target({"name": "cartpole"}).limit.tolist() == [79, 80]


def test_settings_are_found_by_what_they_are(quick):
    folder, _ = quick
    settings = read(EXPERIMENTS["lfa-sensitivity"].sweep(QUICK), Store(folder))
    chosen = select(settings, tiles=14, name="cbp")
    assert [one.algorithm["alpha"] for one in chosen] == [0.25, 500.0]
    assert all(one.gap.shape == (2, 30) for one in chosen)
    assert select(settings, estimator="td") == []
