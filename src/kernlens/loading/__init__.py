"""Any path to programs: identify, unpack, assemble."""

from kernlens.loading.open import Contents, Folder, load, open_build, open_builds, open_bytes, open_file

__all__ = ["Contents", "Folder", "load", "open_build", "open_builds", "open_bytes", "open_file"]
