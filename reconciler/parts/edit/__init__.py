"""Commands that change manifests: grant, revoke, rename, adopt, users, break-glass."""

COMMANDS = {
    "grant": ("Grant access by an edit of the manifests", "reconciler.parts.edit.cli.grant", "Edit manifests"),
    "revoke": ("Revoke access by an edit of the manifests", "reconciler.parts.edit.cli.revoke", "Edit manifests"),
    "rename": (
        "Rename a principal in two edits, without an outage",
        "reconciler.parts.edit.cli.rename",
        "Edit manifests",
    ),
    "adopt": ("Turn drift into an edit of the manifests", "reconciler.parts.edit.cli.adopt", "Edit manifests"),
    "users": ("Make passwords of SCRAM users, disable users", "reconciler.parts.edit.cli.users", "Edit manifests"),
}
#: What this part does for an option of a command of the core: the module.
OPTIONS = {"lint --fix": "reconciler.parts.edit.cli.fix"}
