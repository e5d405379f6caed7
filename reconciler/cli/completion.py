"""``reconciler completion``: the script with which a shell completes commands and options."""

from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from reconciler.cli.console import Exit, out
from reconciler.cli.main import program

#: The script calls the program again with this variable set, which click looks for.
_VARIABLE: Final = "_RECONCILER_COMPLETE"
_SHELLS: Final = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command("completion", short_help="Print a shell completion script")
@click.argument("shell", type=click.Choice(list(_SHELLS)))
def command(*, shell: str) -> int:
    """Print the completion script for SHELL.

    \b
    bash: reconciler completion bash > ~/.local/share/bash-completion/completions/reconciler
    zsh:  reconciler completion zsh > "${fpath[1]}/_reconciler"
    fish: reconciler completion fish > ~/.config/fish/completions/reconciler.fish
    """
    script = _SHELLS[shell](program, {}, "reconciler", _VARIABLE)
    # Not script.source(), which starts a bash to ask for its version.
    out([(script.source_template % script.source_vars()).strip("\n")], whole=True)
    return Exit.OK
