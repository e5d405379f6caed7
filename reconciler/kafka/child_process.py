"""The child process of a listing: reads a task from stdin and writes a reply to stdout, both with ``marshal``.

Settings contain secrets, so they never pass through arguments or the environment, which other users can see. The
module imports next to nothing of ours, so that a child process starts fast.
"""

import gc
import marshal
import os
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from reconciler.system.process import forbid_core_dumps

#: ``{"timeout": seconds, ...}`` and what the reader needs; plain values only.
Task: TypeAlias = dict[str, Any]
#: ``("rows", cluster id, resource rows)``, ``("refused", code, name, message)`` by the cluster, ``("failed", text)``.
#: ``("unconnected", text)`` by the message client, whose first connection failed.
#: The message client adds to ``rows`` the levels of ``metadata.version``, finalized and supported, or ``None``.
Reply: TypeAlias = tuple[Any, ...]

#: The filter codes ANY.
ANY: Final = 1


def serve(read: Callable[[Task], Reply]) -> None:
    """Answer one task and end the process. Output of libraries goes to stderr, so that it cannot corrupt the reply."""
    forbid_core_dumps()
    gc.disable()  # nothing becomes garbage before the process ends
    # Keep the real stdout for the reply, then point stdout to stderr: libraries print to it, also from C.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    task = marshal.load(sys.stdin.buffer)  # noqa: S302 - our own parent wrote it
    try:
        reply = read(task)
    except Exception as error:
        reply = ("failed", f"{type(error).__name__}: {error}")
    # Not pickle, which runs code when it reads. Both ends run the same Python, so the format need not be a stable one.
    marshal.dump(reply, replies)
    replies.flush()
    os._exit(0)  # skip the interpreter's cleanup: it takes long on millions of objects
