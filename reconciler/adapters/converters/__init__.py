"""Convert the files of other tools to the bindings and topics that they would create (``reconciler convert``)."""

from typing import TYPE_CHECKING, Final

from reconciler.adapters.converters.formats import AUTO, FORMATS, OF_CLUSTERS
from reconciler.facade import on_demand

if TYPE_CHECKING:
    from reconciler.adapters.converters.conversion import ConversionResult, Remark, Sign
    from reconciler.adapters.converters.converting import convert
    from reconciler.adapters.converters.files import SourceFiles, source_files
    from reconciler.adapters.converters.tree import SourceError

__all__ = [
    "AUTO",
    "FORMATS",
    "OF_CLUSTERS",
    "ConversionResult",
    "Remark",
    "Sign",
    "SourceError",
    "SourceFiles",
    "convert",
    "source_files",
]

_MODULES: Final = {
    "conversion": ("ConversionResult", "Remark", "Sign"),
    "converting": ("convert",),
    "files": ("SourceFiles", "source_files"),
    "tree": ("SourceError",),
}
__getattr__ = on_demand(__name__, _MODULES)
