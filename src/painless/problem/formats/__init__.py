"""Problem files: one module for each format, listed by its ending in `registry.FORMATS`.

All formats have the same entries, those of `file_entries`, which become the arguments of `CMDP`.
"""
