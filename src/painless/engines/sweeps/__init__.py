"""Sweeps over large sparse models: compiled kernels, and the equations that they solve.

`pricing` finds a best response; `chain_values` and `chain_occupancy` evaluate the Markov chain of one policy.
"""
