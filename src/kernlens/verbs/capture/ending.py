"""The end of a captured application: by a signal, within calls of the driver."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence

#: What shells add to the number of the signal that ended a program.
_SHELLS = 128


def endings(status: int | None, process: int | None, last_calls: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """Yield sentences on an application that a signal ended, and on processes that ended within a call of the driver.

    ``status`` is its exit status, negative for a signal, ``process`` its number; None of a recovered capture. ``last_calls``
    are the functions that ended processes had not returned from, by the process's number.
    """
    ended = (_signal_name(-status) or f"signal {-status}") if status is not None and status < 0 else ""
    own = last_calls.get(process, ()) if ended and process is not None else ()
    if ended:
        yield f"{ended} ended the application{f' within {_listed(own)}' if own else ''}"
    elif status is not None and status > _SHELLS and (name := _signal_name(status - _SHELLS)):
        yield f"the application ended with status {status}, as a shell does when {name} ended its command"
    for number, functions in last_calls.items():
        if not own or number != process:
            yield f"process {number} of the application ended within {_listed(functions)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def _listed(functions: Sequence[str]) -> str:
    return " and ".join(functions)
