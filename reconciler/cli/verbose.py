"""``--verbose``: what the program logs about itself, on stderr."""

import logging

from reconciler.cli.console import debug, info
from reconciler.report.style import safe


class _ToConsole(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Say it; the console leaves it out once nobody wants it."""
        (info if record.levelno >= logging.WARNING else debug)(safe(record.getMessage()))


def listen() -> None:
    """Hand what this package logs to the console; other packages' logs, which may hold anything, stay unheard."""
    logger = logging.getLogger("reconciler")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    if not any(isinstance(handler, _ToConsole) for handler in logger.handlers):
        logger.addHandler(_ToConsole())
