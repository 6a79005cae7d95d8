"""Learning: the primal-dual loop, its algorithms, averages over iterates, and guarantees."""
