"""PRISM's explicit files: a model and its rewards, labels and states, each in a text file of the same name.

    model.tra    the numbers of states, choices and transitions; then lines: state choice successor probability [action]
    model.srew   rewards of states; lines: state reward. Several reward structures are in model1.srew, model2.srew, …
    model.trew   rewards of transitions; lines: state choice successor reward
    model.lab    0="init" 1="deadlock" …; then lines: state: labels
    model.sta    (x,y), the variables; then lines: state:(values)

Markov chains have no column for choices. The files have neither a discount nor constraints; they are given when a model is read, or
stand in a comment of the first reward file if `write` wrote it. All first states are equally likely, so that a problem with another
initial distribution is refused when it is written.
"""

from painless.problem.formats.prism.reading import read
from painless.problem.formats.prism.writing import write

__all__ = ["read", "write"]
