"""A coreset of 56 pairs against all 100, d = 56: whether it gives the same result from fewer samples, for both estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from painless.study.paper.claims import Claim, judge
from painless.study.paper.experiment import Analysis, Experiment, Table
from painless.study.paper.grids import GRIDWORLD, LINEAR_ITERATIONS, LINEAR_SAMPLES, TABLE_2, TILES
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale, joined
from painless.study.paper.selection import ALGORITHMS, TITLES
from painless.study.paper.shared import case_rows, last_values
from painless.study.paper.yardstick import compare, interval, with_interval
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep
from painless.study.unit import make_evaluator, make_problem

DIMENSION = 56
ESTIMATORS = {"lstdq": "LSTDQ", "least-squares": "rollouts (eq. lspg)"}
CHOICES: list[dict[str, object]] = [  # which of the pairs that share a feature, in Algorithm 3 as printed
    {"coreset": "first"},
    {"coreset": "last"},
    *({"coreset": "random", "choice_seed": seed} for seed in range(3)),
]
Case = tuple[str, str]  # the estimator, and what it samples
ALL, RELEASED = "all pairs", "coreset"
MATCHES: dict[str, tuple[str, str, str]] = {  # what, all of it, and part of it
    "coreset-lstdq": ("LSTDQ, with and without", "lstdq", "lstdq"),
    "coreset-rollouts": ("least squares on rollouts, with and without", "least-squares", "least-squares"),
    "coreset-estimators": ("rollouts from the coreset beside LSTDQ from all pairs", "lstdq", "least-squares"),
}
WHY = {
    "coreset-estimators": "The results are no worse, but a rollout has as many steps as the discount asks for, where LSTDQ takes one: there "
    "are fewer entries and more transitions.",
    "coreset-lstdq-printed": "The gains of pairs with equal features are equal, and the printed algorithm leaves open which of them it takes; as a loop over states "
    "it takes the first. LSTDQ sees only single steps from the chosen pairs: from the first state of each tile it never sees a reward, from other choices only some of them.",
    "coreset-rollouts-printed": "A tile holds up to two states, and the printed algorithm samples one of them; the fit then says nothing of the other.",
}


def sweep(scale: Scale) -> Sweep:
    """Return both estimators on all pairs, on the coreset as released, and as printed with each choice among equal pairs."""
    tiles = {"tiles": TILES[DIMENSION]}
    lstdq = {"name": "lstdq", "samples": LINEAR_SAMPLES, **tiles}
    rollouts = {"name": "least-squares", "rollouts": LINEAR_SAMPLES, **tiles}
    whole = [{**one, "coreset": [False, True]} for one in (lstdq, rollouts)]
    printed = [{**lstdq, **choice} for choice in CHOICES]
    alone = [{**rollouts, **choice} for choice in CHOICES[:3]]  # of CBP alone, since rollouts take long
    runs = [(one, TABLE_2[DIMENSION]) for one in (*whole, *printed)] + [
        (one, TABLE_2[DIMENSION][:1]) for one in alone
    ]
    return joined(
        scale.sweep(GRIDWORLD, algorithms, LINEAR_ITERATIONS, evaluator, start="uniform")
        for evaluator, algorithms in runs
    )


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw both estimators with and without the coreset, and judge whether it matches."""
    cases = _cases(settings)
    headings = {case: f"{ESTIMATORS[case[0]]}, {case[1]}" for case in cases}
    main = {headings[case]: chosen for case, chosen in cases.items() if case[1] in (ALL, RELEASED)}
    printed = {headings[case]: chosen for case, chosen in cases.items() if headings[case] not in main}
    pictures = (
        Picture(
            "coreset",
            "OG and CV with samples from all 100 pairs, and from the 56 entries of the coreset, each a feature with all its pairs, for LSTDQ and for least "
            "squares on rollouts; 95 % bands over the seeds.",
            case_rows(main),
        ),
        Picture(
            "coreset-printed",
            "The same with one pair for each entry, as Algorithm 3 is printed: the first, the last, and random ones of the pairs that share a feature.",
            case_rows(printed),
        ),
    )
    used = {case: transitions(chosen["cbp"]) for case, chosen in cases.items()}
    costs = Table(
        "Transitions sampled in each iteration.",
        ("estimator", "entries", "transitions"),
        tuple((headings[case], f"{entries}", f"{steps:,}") for case, (entries, steps) in used.items()),
    )
    last = last_values("Last values with and without the coreset.", {**main, **printed})
    claims = [_matches(name, cases, used) for name in MATCHES]
    claims += [_printed(estimator, cases) for estimator in ESTIMATORS]
    return Analysis(pictures, (last, costs), tuple(claims))


def _cases(settings: Sequence[SettingResults]) -> dict[Case, dict[str, SettingResults]]:
    """Return the settings of each algorithm by estimator and by what is sampled."""
    found: dict[Case, dict[str, SettingResults]] = {}
    for one in settings:
        choice = one.evaluator["coreset"]
        sampled = RELEASED if choice is True else f"{choice} pairs" if choice else ALL
        if choice == "random":
            sampled += f", draw {int(one.evaluator['choice_seed']) + 1}"
        found.setdefault((str(one.evaluator["name"]), sampled), {})[one.name] = one
    return found


def transitions(setting: SettingResults) -> tuple[int, int]:
    """Return the entries that are sampled, and the transitions of one iteration."""
    make = make_evaluator(setting.evaluator)
    assert make is not None
    evaluator = make(make_problem(setting.problem))
    if setting.evaluator["name"] == "lstdq":
        return int(evaluator.entry_count), int(evaluator.transitions)
    entries = len(evaluator.design.entries)
    return entries, entries * int(evaluator.rollouts) * int(evaluator.monte_carlo.steps)


def _matches(
    name: str, cases: Mapping[Case, Mapping[str, SettingResults]], used: Mapping[Case, tuple[int, int]]
) -> Claim:
    what, first, second = MATCHES[name]
    whole, part = (first, ALL), (second, RELEASED)
    parts, texts = [], []
    for algorithm in ALGORITHMS:
        similar, text = _alike(cases[whole][algorithm], cases[part][algorithm])
        parts.append(similar)
        texts.append(f"{TITLES[algorithm]} {text}")
    (all_pairs, many), (entries, few) = used[whole], used[part]
    return Claim(
        name,
        f"G-experimental design gives similar performance at a lower cost ({what}).",
        "coreset",
        judge([True, few < many]) if all(parts) else judge(parts),
        f"last OG: {'; '.join(texts)}; {entries} entries and {few:,} transitions an iteration in place of {all_pairs} and {many:,}",
        WHY.get(name, ""),
    )


def _alike(whole: SettingResults, part: SettingResults) -> tuple[bool, str]:
    """Return whether a part does as well as the whole, and no worse by the constraint, and the numbers."""
    a, b = whole.last_merits, part.last_merits
    violated = interval(part.violation[:, -1, 0])[0] > max(0.0, interval(whole.violation[:, -1, 0])[1])
    text = f"{with_interval(a)} with all pairs, {with_interval(b)} with the coreset"
    if violated:
        text += f" and CV {part.last_violation.max():+.3g}"
    return compare(b, a).similar and not violated, text


def _printed(estimator: str, cases: Mapping[Case, Mapping[str, SettingResults]]) -> Claim:
    parts, texts = [], []
    for (kind, sampled), chosen in cases.items():
        if kind == estimator and sampled not in (ALL, RELEASED):
            whole = cases[estimator, ALL]
            found = [_alike(whole[name], one) for name, one in chosen.items()]
            parts.append(all(similar for similar, _ in found))
            texts.append(f"{sampled}: CBP {found[0][1]}")
    name = {"lstdq": "coreset-lstdq-printed", "least-squares": "coreset-rollouts-printed"}[estimator]
    return Claim(
        name,
        f"G-experimental design as printed, one pair for each entry, gives similar performance ({ESTIMATORS[estimator]}).",
        "coreset",
        judge(parts),
        f"last OG by the choice among equal pairs: {'; '.join(texts)}",
        WHY[name],
    )


EXPERIMENT = Experiment(
    "coreset",
    "G-experimental design",
    "Gridworld, γ = 0.9, d = 56, T = 400, uniform starts, settings of Table 2; 300 samples or rollouts from each of 56 coreset entries, or from each of all 100 pairs. An entry is a feature "
    "with all its pairs, of which each sample takes any, as in the released code; as printed, Algorithm 3 takes one pair.",
    sweep,
    analyse,
)
