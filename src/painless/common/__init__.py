"""What everybody may use: array types, errors, numbers as text, the clock, compiled kernels and registries."""
