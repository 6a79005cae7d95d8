"""`python -m painless` is the command line."""

from painless.cli import main

main()
