"""The page, in a real browser: it shows what the command line says, asks for nothing, and runs no one else's script."""

import json
import re

import numpy as np
import pytest

import painless
from painless.bellman import policy_value
from painless.common.render import number, visible
from painless.problems.slippery_grid import random_map, slippery_grid
from painless.report.html import frontier_page
from painless.report.page_solution import TOLERANCE, solution_page
from painless.report.page_training import TrainingRecord, training_page
from tests.browser import chromium, visit  # noqa: F401

EVIL = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    "\"><svg onload='window.hacked = 3'>",
    "{{ 7 * 7 }}${window.hacked = 4}\u2028",
)
WHOLE_POLICY = """() => {
  const { frontier, now } = window.painless.explorer;
  return Array.from({ length: frontier.data.states }, (_, s) => frontier.rowAt(now.place, s));
}"""


@pytest.fixture
def run(run):
    """Run the command line in this process, which succeeds; return what it printed."""

    def call(*arguments):
        code, out, err = run(*arguments)
        assert code == 0, err
        return out

    return call


def page_of(problem, *constraints):
    found = [painless.frontier(problem, k, tolerance=TOLERANCE) for k in constraints or (0,)]
    return frontier_page([one.as_dict() for one in found], "a page")


def printed_rows(out):
    """Return the rows of the table that `painless solve` prints, by their first cell."""
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "│" in line]
    return {row[0]: row[1:] for row in cells}


def table_of(rows, actions):
    """Return a policy as a table, from the pairs that the page has."""
    policy = np.zeros((len(rows), actions))
    for state, row in enumerate(rows):
        for action, probability in row:
            policy[state, int(action)] = probability
    return policy


@pytest.fixture(scope="module")
def gridworld_page():
    return page_of(painless.gridworld())


def test_numbers_are_those_of_the_command_line(visit, gridworld_page):  # noqa: F811
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal(4000) * 10.0 ** rng.integers(-12, 13, 4000)
    halves = rng.integers(100_000, 1_000_000, 300) + 0.5  # between two numbers of six digits, exactly
    quarters = rng.integers(10_000, 100_000, 300) + 0.25
    whole = [0.0, 1.0, -1.0, 1e5, 1e6, 999999.5, 9999995.0, 1e-4, 1e-5, 1e300, 5e-324, 0.1, 1 / 3]
    values = [*drawn.tolist(), *halves.tolist(), *(-halves).tolist(), *quarters.tolist(), *whole]
    shown = visit(gridworld_page).evaluate("list => list.map(x => painless.number(x))", values)
    assert shown == [number(value) for value in values]


@pytest.mark.parametrize(
    ("name", "constraint"), [("gridworld", 0), ("queueing", 0), ("queueing", 1), ("slippery-grid", 0)]
)
def test_slider_shows_what_the_linear_program_gives(visit, run, name, constraint):  # noqa: F811
    problem = painless.make(name)
    view = visit(page_of(problem, constraint))
    slider = view.page.locator("#limit")
    last = int(slider.get_attribute("max"))
    compare(view, run, name, problem, constraint)  # where the page begins: at the problem's own limit
    for share in np.linspace(0.2, 0.96, 10):
        slider.fill(str(round(share * last)))
        compare(view, run, name, problem, constraint)


def compare(view, run, name, problem, constraint):
    """Hold what a page shows against what `painless solve --algorithm lp` prints, digit for digit."""
    limits = problem.limit.tolist()
    limits[constraint] = view.page.locator("#limit-text").input_value()
    given = [part for one in limits for part in ("--threshold", one)]
    rows = printed_rows(run("solve", name, "--algorithm", "lp", *given))
    assert view.text("#value") == rows["cost" if problem.minimise else "reward"][0]
    assert view.text("#price") == rows[problem.name("constraints", constraint)][2]
    for k in range(problem.shape[2]):
        value, _, price = rows[problem.name("constraints", k)]
        assert view.text(f"#spent-{k}") == value or price == "0"  # with nothing at stake optima may differ


@pytest.mark.parametrize("name", ["gridworld", "queueing", "slippery-grid"])
def test_policy_has_the_values_shown(visit, name):  # noqa: F811
    problem = painless.make(name)
    view = visit(page_of(problem))
    slider = view.page.locator("#limit")
    for share in np.linspace(0.05, 0.95, 7):
        slider.fill(str(round(share * int(slider.get_attribute("max")))))
        policy = table_of(view.evaluate(WHOLE_POLICY), problem.shape[1])
        np.testing.assert_allclose(policy.sum(-1), 1.0)
        now = view.evaluate("() => painless.explorer.now")
        value = policy_value(problem, policy) * problem.sign
        np.testing.assert_allclose(value, [now["value"], *now["spent"]], rtol=1e-6, atol=1e-9)


def test_keyboard(visit, gridworld_page):  # noqa: F811
    view = visit(gridworld_page)
    limit = view.page.locator("#limit-text")
    view.page.locator("#limit").focus()
    seen = [float(limit.input_value())]
    for key in ("ArrowRight", "PageUp", "ArrowLeft", "PageDown", "Home", "End"):
        view.page.keyboard.press(key)
        seen.append(float(limit.input_value()))
    start, right, up, left, down, home, end = seen
    assert start == 1.5
    assert start < right < up
    assert left < up
    assert down == pytest.approx(start)
    assert home < 0.2454  # where the limit costs nothing
    assert end == 2.55727
    text = view.page.locator("#limit").get_attribute("aria-valuetext")
    assert text == f"2.55727; reward {view.text('#value')}, shadow price 1.20833"


def test_typed_limits(visit, gridworld_page):  # noqa: F811
    view = visit(gridworld_page)
    box = view.page.locator("#limit-text")
    box.fill("0.1")
    assert (view.text("#value"), view.text("#price")) == ("1.73286", "0")
    box.fill("3")
    assert "No policy keeps constraint 1 ≥ 3" in view.text("#limit-note")
    assert "2.55727" in view.text("#limit-note")
    assert box.get_attribute("aria-invalid") == "true"
    box.fill("much")
    assert view.text("#limit-note") == "Give a number."
    assert view.text("#value") == "1.73286"
    box.fill("1,5")
    assert (view.text("#value"), view.text("#limit-note")) == ("1.65272", "")


def test_map_is_read_with_the_keyboard(visit, gridworld_page):  # noqa: F811
    view = visit(gridworld_page)
    view.page.locator("svg.map").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        view.page.keyboard.press(key)
    assert re.fullmatch(r"\(1, 1\): 100 % up · visits 0\.9\d+", view.text("#map .readout"))


def test_states_are_sorted_and_found(visit):  # noqa: F811
    view = visit(page_of(painless.make("queueing")))
    head = view.page.locator("table.states th", has_text="changes")
    head.locator("button").click()
    changes = [int(text) for text in view.page.locator("table.states td:nth-child(4)").all_inner_texts()]
    assert head.get_attribute("aria-sort") == "descending"
    assert changes == sorted(changes, reverse=True)
    assert len(set(changes)) > 1
    view.page.locator("#state-search").fill("state 7")
    assert view.page.locator("table.states tbody tr").count() == 1


@pytest.mark.parametrize("constraint", [0, 1], ids=["threshold", "budget"])
def test_the_strip_of_a_state_runs_in_the_direction_of_the_slider(visit, constraint):  # noqa: F811
    view = visit(page_of(painless.make("queueing"), constraint))
    dot = view.page.locator("circle.strip-now").first
    places = []
    for key in ("Home", "End"):
        view.page.locator("#limit").focus()
        view.page.keyboard.press(key)
        view.evaluate("painless.explorer.redraw()")  # now, not with the next frame
        places.append(float(dot.get_attribute("cx")))
    assert places == pytest.approx([4, 68], abs=0.1)


def test_a_slider_goes_through_the_steps_of_a_horizon(visit):  # noqa: F811
    problem = painless.make("maintenance", horizon=30, budget=0.068)
    page = visit(page_of(problem))
    assert "6 states of 6 in step 0" in page.text("#states")
    page.page.locator("#step").fill("23")
    assert page.text("#step-text") == "23"
    row = page.page.locator("#states tbody tr", has_text="step 23, 3").inner_text()
    exact = painless.solve(problem, tolerance=1e-9).policy.at("3", step=23)
    assert f"{100 * exact[0]:.2f}" in row
    page.page.locator("#step-all").check()
    assert "180 states of 180" in page.text("#states")


def test_constraints_are_chosen(visit):  # noqa: F811
    problem = painless.make("queueing")
    view = visit(page_of(problem, 0, 1))
    assert view.text("#limit-name") == "throughput ≥"
    view.page.locator("#constraint").select_option("1")
    assert view.text("#limit-name") == "waiting ≤"
    exact = painless.solve(problem, painless.LinearProgram())
    assert view.text("#price") == number(exact.multiplier[1])
    assert view.text("#value") == number(exact.reward_value)


def evil_problem():
    world = painless.gridworld()
    names = {
        "states": [f"{EVIL[s % 4]}{s}" for s in range(25)],
        "actions": list(EVIL),
        "constraints": [EVIL[0]],
    }
    return painless.CMDP(
        world.transition,
        world.reward,
        initial=world.initial,
        discount=world.discount,
        constraint_reward=world.constraint_reward,
        threshold=1.5,
        names=names,
    )


def test_names_are_text_and_never_script(visit):  # noqa: F811
    problem = evil_problem()
    solution = painless.solve(problem, iterations=20)
    for page in (
        frontier_page([painless.frontier(problem).as_dict()], EVIL[1]),
        solution_page(solution, problem, EVIL[2]),
        solution_page(solution, None, EVIL[3]),
    ):
        view = visit(page)
        assert view.evaluate("() => window.hacked ?? null") is None
        assert view.evaluate("() => document.querySelectorAll('img, script:not([type])').length") == 1
    assert EVIL[0] in visit(frontier_page([painless.frontier(problem).as_dict()], "x")).text("#limit-name")


def test_policy_forbids_every_request_and_foreign_script(chromium, gridworld_page, tmp_path):  # noqa: F811
    (tmp_path / "page.html").write_text(gridworld_page, encoding="utf-8")
    page = chromium.new_page()
    blocked = []
    page.on("console", lambda message: blocked.append(message.text))
    page.goto((tmp_path / "page.html").as_uri())
    asked = page.evaluate("() => fetch('https://example.org/').then(() => 'answered', () => 'refused')")
    page.evaluate(
        "() => { const s = document.createElement('script'); s.text = 'window.hacked = 1'; document.body.append(s); }"
    )
    assert asked == "refused"
    assert page.evaluate("() => window.hacked ?? null") is None
    assert sum("Content Security Policy" in text for text in blocked) >= 2
    page.close()


@pytest.fixture(scope="module")
def pages():
    """The page of a grid, of a chain, and of a training run."""
    queue = painless.make("queueing")
    training = painless.train(
        painless.CartPole(), iterations=6, episodes=20, multiplier_bound=[10.0, 10.0], seed=1
    )
    return {
        "grid": page_of(painless.make("slippery-grid")),
        "queue": solution_page(painless.solve(queue, iterations=40), queue, "queueing"),
        "training": training_page(TrainingRecord.of(training), "cartpole"),
    }


@pytest.mark.parametrize("kind", ["grid", "queue", "training"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fits_every_width(visit, pages, kind, scheme):  # noqa: F811
    for width in (360, 800, 1400):
        view = visit(pages[kind], scheme=scheme, width=width)
        assert view.evaluate("() => document.documentElement.scrollWidth") <= width
        assert view.evaluate("() => document.querySelectorAll('figure svg').length") > 0


def test_text_is_readable_on_its_ground(visit, gridworld_page):  # noqa: F811
    contrast = """() => {
      const light = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
      const ground = light(getComputedStyle(document.body).backgroundColor);
      return ['body', '.subtitle', '.main dd', 'figcaption', '.sort', 'footer'].map((selector) => {
        const ink = light(getComputedStyle(document.querySelector(selector)).color);
        return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
      });
    }"""
    for scheme in ("light", "dark"):
        assert min(visit(gridworld_page, scheme=scheme).evaluate(contrast)) >= 4.5


def test_every_control_has_a_name(visit, pages):  # noqa: F811
    nameless = """() => [...document.querySelectorAll('input, select, button, svg[role]')].filter((node) =>
      !(node.getAttribute('aria-label') || node.textContent.trim() || (node.labels && node.labels.length))).length"""
    for page in pages.values():
        assert visit(page).evaluate(nameless) == 0


def test_prints(visit, pages):  # noqa: F811
    view = visit(pages["grid"])
    assert view.page.pdf().startswith(b"%PDF")
    view.page.emulate_media(media="print")
    assert not view.page.locator("#limit").is_visible()
    assert view.page.locator("#value").is_visible()


def test_curves_of_a_run_show_what_is_exact(visit, pages):  # noqa: F811
    text = visit(pages["queue"]).text("main")
    exact = painless.solve(painless.make("queueing"), painless.LinearProgram())
    assert f"optimum {number(exact.reward_value)}" in text
    for multiplier in exact.multiplier:
        assert f"λ* {number(multiplier)}" in text
    assert "95 % confidence interval" in visit(pages["training"]).text("main")


def test_ten_thousand_states(visit):  # noqa: F811
    problem = slippery_grid(random_map(100, 100, walls=0.0), budget=0.5)
    assert problem.shape[0] == 10_000
    page = page_of_large(problem)
    assert len(page.encode()) < 2_000_000
    view = visit(page)
    counted = view.page.context.new_cdp_session(view.page)
    # What it costs, whoever else is at work
    counted.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = metrics(counted)
    view.evaluate(
        """async () => {
          const slider = document.getElementById('limit');
          for (let k = 0; k < 20; k += 1) {
            slider.value = Math.round(((k + 0.5) / 20) * Number(slider.max));
            slider.dispatchEvent(new Event('input'));
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          }
        }"""
    )
    assert (
        metrics(counted) - before
    ) / 20 < 0.1  # seconds for script, style, layout and paint; more would be seen
    assert len(view.page.locator(".arrows.on-light").get_attribute("d")) > 10_000


def metrics(session):
    """Return the processor seconds of a page's main thread so far."""
    found = session.send("Performance.getMetrics")["metrics"]
    return next(one["value"] for one in found if one["name"] == "TaskDuration")


def page_of_large(problem):
    return frontier_page([painless.frontier(problem, tolerance=1e-2).as_dict()], "large")


def test_notebook_shows_the_page_in_a_frame(chromium, tmp_path):  # noqa: F811
    frontier = painless.frontier(painless.gridworld())
    (tmp_path / "notebook.html").write_text(frontier._repr_html_(), encoding="utf-8")
    page = chromium.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for()
    assert frame.locator("#value").inner_text() == "1.65272"
    frame.locator("#limit").press("End")
    assert frame.locator("#limit-text").input_value() == "2.55727"
    assert messages == []
    page.close()


def test_notebook_pieces_escape_names():
    solution = painless.solve(evil_problem(), iterations=5)
    assert "<script" not in solution._repr_html_()
    assert "&lt;/script&gt;" in solution._repr_html_()


def test_json_of_a_page_ends_no_script():
    page = page_of(evil_problem())
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert json.loads(block[1])["frontiers"][0]["action_names"] == [visible(name) for name in EVIL]
