"""Log lines: a constant message and facts as key=value, as text or JSON, on stderr."""

import logging
import os
import sys
import time

import kopf


def set_up(level: str, form: str) -> None:
    """Sends all log lines to stderr.

    Args:
        level: ``debug``, ``info``, ``warning`` or ``error``.
        form: ``text`` or ``json``.
    """
    kopf.configure(
        debug=level == "debug",
        log_format=kopf.LogFormat.JSON if form == "json" else kopf.LogFormat.PLAIN,
    )
    root = logging.getLogger()
    root.setLevel(level.upper())
    if form == "text":
        lines = logging.Formatter(
            "%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S"
        )
        lines.converter = time.gmtime
        for handler in root.handlers:
            handler.setFormatter(lines)
    if level != "debug":
        # Of single objects only what went wrong; of requests, watchers and its own end nothing: the
        # transport and the main say each of these once.
        logging.getLogger("kopf.objects").setLevel(logging.WARNING)
        for name in ("kopf.activities", "kopf._core", "kopf._cogs"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def let_go() -> None:
    """Drops what a full disk or a closed pipe has not taken, before the process ends.

    Python writes it once more at its end, and would make the exit code 120 where that fails.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
