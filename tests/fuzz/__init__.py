"""Random problems that are hard on arithmetic, and an independent judge of every claim that a solution makes."""
