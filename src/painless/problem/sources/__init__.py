"""Problems from other sources: rows, frames, and the layouts of other libraries."""

from painless.problem.sources.frames import from_frame
from painless.problem.sources.libraries import from_mdptoolbox, from_quantecon
from painless.problem.sources.rows import from_rows
from painless.problem.sources.toy_text import from_toy_text

__all__ = ["from_frame", "from_mdptoolbox", "from_quantecon", "from_rows", "from_toy_text"]
