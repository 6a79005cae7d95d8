"""Files that are written atomically, and read without running or trusting what they contain.

`files` has the formats of a single file, `results` seals what the package saves with a version and a checksum, and
`checked_entries` checks what is read back. Problem files, which may be written by hand, are in `painless.problem.formats`.
"""
