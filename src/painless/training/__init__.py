"""`train` and `evaluate`: policies learned and judged by sampling, without a model."""
