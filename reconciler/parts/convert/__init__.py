"""The files of other tools as manifests."""

COMMANDS = {"convert": ("Convert another tool's files to manifests", "reconciler.parts.convert.cli", "Moving in")}
