"""Long text in a pager, on a terminal only."""

import os
import shlex
import shutil
import subprocess
import sys

from reconciler.cli.console import settings, watched, write


def show(text: str) -> None:
    """Show what does not fit the screen in ``$PAGER``, else ``less``; write it where nobody wants that."""
    wanted = not settings.no_pager and os.environ.get("TERM") != "dumb" and watched(sys.stdin) and watched(sys.stdout)
    long = text.count("\n") >= shutil.get_terminal_size().lines
    if not (wanted and long and _paged(text)):
        write(text)


def _paged(text: str) -> bool:
    from reconciler.adapters.child_environment import child_environment

    words = shlex.split(os.environ.get("PAGER") or "less")
    program = shutil.which(words[0]) if words else None
    if program is None:
        return False
    # Colours, the text stays on the screen, no page for what fits; as git asks it.
    environment = {"LESS": "FRX", **child_environment("LESS", "MORE", "TERM")}
    with subprocess.Popen([program, *words[1:]], stdin=subprocess.PIPE, env=environment) as pager:
        while True:
            try:
                pager.communicate(text.encode("utf-8", "backslashreplace") if pager.stdin else None)
            except KeyboardInterrupt:  # the pager's, which it takes as the end of a search
                continue
            return True
