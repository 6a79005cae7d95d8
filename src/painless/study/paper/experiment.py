"""An experiment of the paper: its units, and what is read from their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from painless.study.paper.claims import Claim
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep


@dataclass(frozen=True)
class Table:
    """A table of text."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Analysis:
    """What an experiment shows."""

    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment: a sweep, which is data, and an analysis, which reads stored results only."""

    id: str
    title: str
    about: str
    sweep: Callable[[Scale], Sweep] = field(repr=False)
    analyse: Callable[[Sequence[SettingResults]], Analysis] = field(repr=False)
