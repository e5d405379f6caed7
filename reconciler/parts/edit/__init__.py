"""Commands that change manifests: grant, revoke, rename, adopt, users, break-glass.

Commands that change manifests. Each proves what the edit does to access, then prints a patch, writes it, or commits
it on a branch.

- Adds: ``grant``, ``revoke``, ``break-glass``, ``rename``, ``adopt``, ``users``; ``lint --fix``, and
  ``lint --simplify`` with ``--write`` or ``--branch``.
- Begin with: ``app/editing.py``.
- The core does not know: which edit a person asked for. How manifests are written is in ``manifest/write``, which
  ``export`` and ``init`` use too.
"""

COMMANDS = {
    "grant": ("Grant access by an edit of the manifests", "reconciler.parts.edit.cli.grant", "Edit manifests"),
    "revoke": (
        "Revoke access by an edit of the manifests",
        "reconciler.parts.edit.cli.grant:revoke_command",
        "Edit manifests",
    ),
    "break-glass": (
        "Give access on the cluster at once, until a near end",
        "reconciler.parts.edit.cli.break_glass",
        "Plan and apply",
    ),
    "rename": (
        "Rename a principal in two edits, without an outage",
        "reconciler.parts.edit.cli.grant:rename_command",
        "Edit manifests",
    ),
    "adopt": (
        "Turn drift into an edit of the manifests",
        "reconciler.parts.edit.cli.grant:adopt_command",
        "Edit manifests",
    ),
    "users": ("Make passwords of SCRAM users, disable users", "reconciler.parts.edit.cli.users", "Edit manifests"),
}
#: What this part does for an option of a command of the core: the module.
OPTIONS = {"lint --fix": "reconciler.parts.edit.cli.options"}
