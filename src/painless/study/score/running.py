"""Running the score: problems × seeds × contenders, in parallel and resumable.

What is finished is in a folder, a file for each problem and seed with the rows of each contender, under a hash of the sources of the library, of the suite and of a user's own code: a
contender that is added later runs alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from painless.backends import Backend, Error, Local
from painless.common import plugins
from painless.common.errors import InputError, unknown
from painless.storage import files
from painless.study.score.contenders import Contender, contenders
from painless.study.score.runs import Row, run_table
from painless.study.score.score import Score
from painless.study.score.suite import BUDGET, Entry, suite
from painless.study.store import source_digest


@dataclass(frozen=True)
class ScorePiece:
    """One problem of the suite, by its place, and the contenders that have not run on it."""

    place: int
    seed: int
    budget: int
    chosen: tuple[Contender, ...]
    code: plugins.Files = field(default_factory=dict)


def run_piece(piece: ScorePiece) -> list[Row]:
    """Run the contenders on one problem of the suite."""
    entry = suite()[piece.place]
    with plugins.carried(piece.code):
        if entry.draw is None:
            from painless.study.score.simulated import run_cartpole

            return run_cartpole(piece.seed, piece.chosen)
        return run_table(entry, piece.place, piece.seed, piece.budget, piece.chosen)


def run_score(
    seed: int = 0,
    *,
    seeds: int = 1,
    quick: bool = False,
    families: Sequence[str] = (),
    own: Sequence[Mapping[str, Any]] = (),
    folder: Path | None = None,
    backend: Backend | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Score:
    """Run the suite.

    Arguments:
        seed: the first seed.
        seeds: how many; each draws other instances of every problem. Problems with estimated values run on the first alone.
        quick: take every fourth problem or so, and tune GDA and CRPO alone.
        families: take these alone.
        own: a user's algorithms: a name `module:factory`, and settings, of which lists are a grid.
        folder: keeps what is finished.
        backend: where it runs.
        progress: called with the name of a problem, the number of problems done and their total.
    """
    entries = suite()
    every, few = contenders(own), contenders(own, tuned=False)
    chosen = _places(entries, quick, families)
    code = {
        path: text
        for one in every
        if one.digest
        for path, text in plugins.carriable("algorithm", one.name).items()
    }
    budget = BUDGET
    wanted = [
        (place, one)
        for one in range(seed, seed + seeds)
        for place in reversed(chosen)  # CartPole, which takes longest, first
        if one == seed or not entries[place].costly
    ]
    found: dict[tuple[int, int], dict[str, list[Row]]] = {}
    pieces, order = [], dict[tuple[int, int], list[str]]()
    for place, one in wanted:
        taking_part = few if quick or entries[place].costly else every
        keys = {_key(entries[place], budget, contender): contender for contender in taking_part}
        order[place, one] = [*keys]
        known = _stored_rows(folder, entries[place], one)
        found[place, one] = {key: known[key] for key in keys if key in known}
        missing = tuple(contender for key, contender in keys.items() if key not in known)
        if missing:
            pieces.append(ScorePiece(place, one, budget, missing, code))
    done = len(wanted) - len(pieces)
    with backend or Local() as workers:
        for piece, rows in workers.map(run_piece, pieces):
            entry = entries[piece.place]
            if isinstance(rows, Error):
                raise RuntimeError(f"{entry.name}: {rows.message}")
            several = found[piece.place, piece.seed]
            for contender in piece.chosen:
                mine = [row for row in rows if row["algorithm"] == contender.name]
                several[_key(entry, budget, contender)] = mine
            _store(folder, entry, piece.seed, several)
            done += 1
            if progress is not None:
                progress(entry.name, done, len(wanted))
    places = sorted(wanted, key=lambda pair: (pair[1], pair[0]))
    return Score(seed, [row for pair in places for key in order[pair] for row in found[pair][key]])


def _places(entries: Sequence[Entry], quick: bool, families: Sequence[str]) -> list[int]:
    known = list(dict.fromkeys(entry.family for entry in entries))
    for name in families:
        if name not in known:
            raise unknown("family", name, known)
    chosen = [
        place
        for place, entry in enumerate(entries)
        if (entry.quick or not quick) and (not families or entry.family in families)
    ]
    if not chosen:
        raise InputError("no problem of these families is part of the quick score; remove --quick")
    return chosen


def _key(entry: Entry, budget: int, contender: Contender) -> str:
    """Return what the rows of a contender on a problem depend on, but for the seed."""
    about = [entry.name, entry.family, budget, contender, source_digest(), _score_digest()]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:24]


@cache
def _score_digest() -> str:
    """Return a hash of the sources of the suite and of what runs it."""
    whole = hashlib.sha256()
    for name in ("contenders", "families", "merit", "runs", "simulated", "suite"):
        whole.update((Path(__file__).parent / f"{name}.py").read_bytes())
    return whole.hexdigest()


def _path(folder: Path, entry: Entry, seed: int) -> Path:
    name = hashlib.sha256(f"{entry.name}\0{seed}".encode()).hexdigest()[:24]
    return folder / "problems" / f"{name}.json"


def _stored_rows(folder: Path | None, entry: Entry, seed: int) -> dict[str, list[Row]]:
    if folder is None or not _path(folder, entry, seed).is_file():
        return {}
    try:
        content = json.loads(files.read_bytes(_path(folder, entry, seed)))
    except (ValueError, RecursionError):  # not what was written: run it again
        return {}
    return content if isinstance(content, dict) else {}


def _store(folder: Path | None, entry: Entry, seed: int, rows: Mapping[str, list[Row]]) -> None:
    if folder is not None:
        files.write_json(_path(folder, entry, seed), {**_stored_rows(folder, entry, seed), **rows})
