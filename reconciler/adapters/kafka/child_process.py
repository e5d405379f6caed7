"""The child's side of a listing: a task comes in by stdin, a reply goes out by stdout, both as ``marshal``.

Settings never pass through arguments or the environment. It imports nothing of ours, so that a child starts fast.
"""

import gc
import marshal
import os
import resource
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

#: ``{"timeout": seconds, ...}`` and what the reader needs; plain values only.
Task: TypeAlias = dict[str, Any]
#: ``("rows", cluster id, resource rows)``, ``("refused", code, name, message)`` by the cluster, ``("failed", text)``.
Reply: TypeAlias = tuple[Any, ...]

#: The filter codes ANY.
ANY: Final = 1


def serve(read: Callable[[Task], Reply]) -> None:
    """Answers one task and ends the process. Whatever the libraries print goes to stderr, out of the reply's way."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold the secrets
    gc.disable()  # nothing here is garbage before the end
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    task = marshal.load(sys.stdin.buffer)  # noqa: S302 - our own parent wrote it
    try:
        reply = read(task)
    except Exception as error:
        reply = ("failed", f"{type(error).__name__}: {error}")
    marshal.dump(reply, replies)
    replies.flush()
    os._exit(0)  # no tear-down: nothing here outlives the reply
