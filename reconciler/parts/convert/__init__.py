"""The files of other tools as manifests.

Moving in from another tool. It reads the other tool's files, writes manifests, reads those back and compares the two.

- Adds: ``convert``; the entry points ``reconciler.converters``.
- Uses: ``edit``, to add to manifests that exist (``--path``).
- Begin with: ``formats.py`` (the list), ``kdef.py`` (the smallest reader), ``recognition.py``.
- The core does not know: any other tool.
"""

COMMANDS = {"convert": ("Convert another tool's files to manifests", "reconciler.parts.convert.cli", "Moving in")}
