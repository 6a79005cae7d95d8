"""What everybody may use, and what needs nothing else of the package.

Array types, checks of arguments, errors, numbers as text, the clock, compiled kernels, and lookup in registries.
"""
