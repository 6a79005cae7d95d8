"""UMB, the binary format that model checkers share: models read as problems, and problems written for them.

A `.umb` file is a tar archive of an `index.json` and of arrays of little-endian numbers (https://github.com/pmc-tools/umb):

    state-to-choices.bin       (S + 1) where the choices of each state begin, uint64
    choice-to-branches.bin     (N + 1) where the branches of each choice begin, uint64
    branch-to-target.bin       the successors, uint64
    branch-to-probability.bin  their probabilities, float64
    state-is-initial.bin       one bit for each state
    actions/choices/…          the action of each choice, and the names of actions
    annotations/rewards/NAME/… rewards of states, choices or branches

The format has neither a discount nor constraints; they are given when a model is read. A problem that `write` wrote carries them,
with its names, among the parameters of the tool that made the file, so that exactly the same problem is read.
"""

from painless.problem.formats.umb.reading import read
from painless.problem.formats.umb.writing import write

__all__ = ["read", "write"]
