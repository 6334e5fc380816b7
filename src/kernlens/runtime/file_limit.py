"""The limit on files that a compiler, a driver or an application on a simulated device may write."""

from __future__ import annotations

#: The largest file, in bytes; without a limit, simulation can fill a disk.
FILE_SIZE_LIMIT = 1 << 30


def limit_file_size(limit: int, process: int = 0) -> None:
    """Limit the size in bytes of files that a process (0: this one) and its children write from now on.
    If the process ignores SIGXFSZ, a write beyond the limit fails; otherwise the process ends. A lower limit stays."""
    import resource

    try:
        hard = resource.prlimit(process, resource.RLIMIT_FSIZE)[1]
        soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))
    except ProcessLookupError:
        return  # The process has ended already.
