"""Memory that a long-running process does not need between two pieces of work, given back to the system.

glibc's malloc keeps what is freed below something that is still in use. After a round over 100,000 bindings that is a
third of the process, and more after each one that allocates in another order (``benchmarks/serve.py``).
"""

import ctypes
import gc
from typing import Any


def give_back() -> bool:
    """Collect garbage, and return free memory to the system; whether this platform's C library can (malloc_trim)."""
    gc.collect()
    try:
        trim: Any = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return False
    trim(0)
    return True
