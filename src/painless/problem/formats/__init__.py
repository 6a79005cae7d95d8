"""Problem files: one module for each format, listed by its ending in `registry.FORMATS`."""
