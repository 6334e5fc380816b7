"""Messages on what kernlens tried and why it passed something over, to the loggers ``kernlens.<room>`` of ``logging``.

Nothing is configured on import. The command line turns it on with ``--verbose`` or ``KERNLENS_LOG=debug``; a Python
program does it as with any library: ``logging.basicConfig(level=logging.DEBUG)``. ``logging`` itself costs milliseconds
to import, so kernlens does not import it: where nobody else did, nobody can have asked to see anything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

#: The environment variable that turns the messages on in the command line.
VARIABLE = "KERNLENS_LOG"


def debug(room: str, message: str, *arguments: object) -> None:
    """Log a message to ``kernlens.<room>``; it is formatted with ``%`` only if somebody listens."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger(f"kernlens.{room}").debug(message, *arguments)


def is_on(room: str) -> bool:
    """Return whether somebody listens to ``kernlens.<room>``: for messages that take time to prepare."""
    logging = sys.modules.get("logging")
    return logging is not None and bool(logging.getLogger(f"kernlens.{room}").isEnabledFor(logging.DEBUG))


def print_messages(print_message: Callable[[str], None]) -> None:
    """Give ``print_message`` every message from now on, behind its room; a second call changes nothing."""
    import logging

    logger = logging.getLogger("kernlens")
    if logger.handlers:
        return

    class Printer(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            print_message(self.format(record))

    handler = Printer()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
