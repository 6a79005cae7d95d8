"""Sweeps over large sparse models: compiled kernels, and the equations that they solve."""
