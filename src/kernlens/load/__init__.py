"""Any path to programs: identify, unpack, assemble."""

from kernlens.load.open import Contents, load, open_bytes, open_file

__all__ = ["Contents", "load", "open_bytes", "open_file"]
