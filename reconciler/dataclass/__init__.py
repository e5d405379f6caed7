"""``dataclasses.dataclass``, at a tenth of its price: a command defines three hundred classes before it does anything.

For whoever reads types it is that very function. Python 3.14 and later define classes by it, too.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 14):
    from dataclasses import dataclass
else:
    from reconciler.dataclass.definition import dataclass

__all__ = ["dataclass"]
