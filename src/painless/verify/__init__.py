"""The checker of certificates: it believes the model and its own arithmetic, and nothing of any solver.

A certificate holds a policy π, weights w ≥ 0 of the utilities u_0 = r, u_j = c_j, lower values W_j of the policy and upper values V of
the weighted sum. For a discounted problem and for a finite horizon they satisfy

    W_j(s) ≤ Σ_a π(a|s) [u_j(s, a) + γ Σ P(s'|s, a) W_j(s')]      so that V_j(π) ≥ ρ·W_j
    V(s)   ≥ Σ_j w_j u_j(s, a) + γ Σ P(s'|s, a) V(s')             so that Σ_j w_j V_j(π') ≤ ρ·V for every policy π'

where with a horizon s is a pair (t, s), s' is of the next step, and all is 0 after the last one. With w_0 = 1 no policy that meets all
limits V_j ≥ b_j exceeds ρ·V − Σ_j w_j b_j; with w_0 = 0 and ρ·V < Σ_j w_j b_j none meets them. Every policy has V_j ≥ unit·min u_j, where
unit is 1/(1−γ) or Σ_{t<H} γ^t, so that a limit below that counts as that. W and V are stored as values and a constant for each step, which
is the sum of two doubles, so that nothing is lost where utilities are large and vary little:

    W(s) = constant·(unit of the steps to come) + value(s),     constant + value(s) ≤ u + γ P value

The files of this package need NumPy alone: `arithmetic` rounds outwards or computes in rational numbers, `model` is the problem,
`certificate` reads the files, `inequalities` evaluates what `proofs` asks for, and `verdict` compares it with what is claimed.
"""

from .arithmetic import Outward, Rational, Refused
from .certificate import ARRAYS, CLAIMS, HEAD, NAMES, Certificate, head, read
from .inequalities import pair_surplus, policy_deficit
from .model import Model, allowed_pairs, content_hash
from .proofs import Proved, prove
from .verdict import Verdict, claims, verify

__all__ = [
    "ARRAYS",
    "CLAIMS",
    "HEAD",
    "NAMES",
    "Certificate",
    "Model",
    "Outward",
    "Proved",
    "Rational",
    "Refused",
    "Verdict",
    "allowed_pairs",
    "claims",
    "content_hash",
    "head",
    "pair_surplus",
    "policy_deficit",
    "prove",
    "read",
    "verify",
]
