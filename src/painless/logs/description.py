"""How large a log is, what it covers, and what was never tried."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from painless.common.arrays import Mask, one_thread
from painless.common.render import counted, text_table
from painless.counting.judgement import judge
from painless.counting.safe_plan import plan

if TYPE_CHECKING:
    from painless.logs.logged_model import LoggedModel

FEW = 10  # rows of a pair below which little is known of it
LISTED = 10  # pairs that are listed


@dataclass(frozen=True)
class Description:
    """What there is in a log."""

    rows: int
    states: int
    actions: int
    episodes: int  # with a known first state; 0 if the log has none
    ends: int  # rows that end an episode
    pairs: int  # of a state and an action, that were tried
    rows_per_pair: tuple[float, float, float]  # least, median, most of those that were tried
    few_rows: int  # pairs with fewer than `FEW` rows
    covered: float  # share of the time of the policy that is optimal for the estimate, in pairs with at least `FEW` rows
    never_tried: tuple[tuple[str, str], ...]  # state and action, of all pairs
    without_rows: tuple[str, ...]  # states that are only entered
    note: str  # what of the episodes the rows do not tell

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and text."""
        return asdict(self)

    def table(self) -> list[tuple[str, str]]:
        """Return what is counted, line by line."""
        least, median, most = self.rows_per_pair
        return [
            ("rows", f"{self.rows}"),
            ("episodes", f"{self.episodes}" if self.episodes else "not given"),
            ("rows that end one", f"{self.ends}"),
            ("states", f"{self.states}"),
            ("actions", f"{self.actions}"),
            ("pairs tried", f"{self.pairs} of {self.states * self.actions}"),
            ("rows of a pair", f"{least:g} to {most:g}, median {median:g}"),
            (f"pairs with fewer than {FEW} rows", f"{self.few_rows}"),
            ("covered time of the estimate's optimal policy", f"{self.covered:.1%}"),
            ("states without rows of their own", f"{len(self.without_rows)}"),
        ]

    def last(self) -> str:
        """Return what was never tried, and what the episodes do not tell, in sentences."""
        never = ", ".join(f"{action} in {state}" for state, action in self.never_tried[:LISTED])
        more = f" and {len(self.never_tried) - LISTED} more" if len(self.never_tried) > LISTED else ""
        tried = (
            f"Never tried: {never}{more}." if never else "Every action was tried in every state with rows."
        )
        return f"{tried} {self.note}".strip()

    def __str__(self) -> str:
        return f"{text_table(('', 'log'), self.table())}\n{self.last()}"

    __repr__ = __str__


def describe(log: LoggedModel) -> Description:
    """Describe a log."""
    model, memory = log.model, log.memory
    visits = memory.visits
    tried = visits[visits > 0]
    with one_thread():
        policy = model.own(plan(model.nominal(log.threshold)).policy)
        time = judge(model, policy).occupancy
    live: Mask = np.asarray(model.tried.any(1))
    missing = np.argwhere(~model.tried & live[:, None])
    ends = memory.counts[:, memory.successors == memory.states].sum()
    return Description(
        rows=log.rows,
        states=len(log.states),
        actions=len(log.actions),
        episodes=0 if log.columns.episode is None else int(log.starts.by_state.sum()),
        ends=int(ends),
        pairs=len(tried),
        rows_per_pair=(float(tried.min()), float(np.median(tried)), float(tried.max())),
        few_rows=int((tried < FEW).sum()),
        covered=float(time[visits >= FEW].sum() / max(time.sum(), 1e-300)),
        never_tried=tuple((log.states.texts[s], log.actions.texts[a]) for s, a in missing.tolist()),
        without_rows=tuple(log.states.texts[s] for s in np.flatnonzero(~live).tolist()),
        note=_note(log),
    )


def _note(log: LoggedModel) -> str:
    if log.initial_given or log.columns.step is not None:
        return ""
    if log.columns.episode is None:
        return "The log names no episodes: values are averages over the states that it has, unless initial= says where to begin."
    _, closed, broken = log.starts
    parts = []
    if closed:
        verb = "ends" if closed == 1 else "end"
        parts.append(f"{counted(closed, 'episode')} {verb} where they may have begun")
    if broken:
        parts.append(f"{counted(broken, 'episode')} {'has' if broken == 1 else 'have'} gaps")
    if not parts:
        return ""
    return f"{' and '.join(parts)}: they do not tell where episodes begin; step= (the column that counts their rows) would."
