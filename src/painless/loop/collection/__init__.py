"""The algorithms of the field, one in each file: its equations, its source, its guarantee, and what we chose where the paper leaves something open.

`painless.loop.algorithms.ALGORITHMS` has them by name.
"""

from painless.loop.collection.augmented_lagrangian import AugmentedLagrangianMethod
from painless.loop.collection.flexdome import FlexDOME
from painless.loop.collection.log_barrier import LogBarrierMethod
from painless.loop.collection.npg_pd import NPGPD, npg_pd_bounds
from painless.loop.collection.nupi import NuPILagrangian
from painless.loop.collection.opg_pd import OPGPD
from painless.loop.collection.pid import PIDLagrangian
from painless.loop.collection.reload import ReLOAD
from painless.loop.collection.rpg_pd import RPGPD
from painless.loop.collection.vaidya import DualVaidya

__all__ = [
    "NPGPD",
    "OPGPD",
    "RPGPD",
    "AugmentedLagrangianMethod",
    "DualVaidya",
    "FlexDOME",
    "LogBarrierMethod",
    "NuPILagrangian",
    "PIDLagrangian",
    "ReLOAD",
    "npg_pd_bounds",
]
