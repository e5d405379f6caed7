"""Files of a fleet store, on local disk or on whatever file system an address names (hdfs:, s3:, gs:, abfs:).

A file appears whole or not at all: elsewhere than on object stores, whose writes are like that anyway, it is written
under another name and then renamed.
"""

import os
import uuid
from pathlib import Path
from typing import Any, Final

from pyarrow import fs

from reconciler.dataclass import dataclass
from reconciler.fleet.store import FleetStore

_OBJECT_STORES: Final = frozenset({"s3", "gcs", "abfs"})


@dataclass(frozen=True, slots=True)
class Files:
    """Implements ``fleet.StoreFiles`` below a path or an address; tasks open the file system for themselves."""

    root: str

    @classmethod
    def at(cls, place: str) -> "Files":
        """Below a path, made absolute, or an address."""
        return cls(place if "://" in place else str(Path(place).resolve()))

    def read(self, name: str) -> bytes:
        """All bytes of a file; raises ``OSError``."""
        system, base = self._open()
        with system.open_input_stream(f"{base}/{name}") as stream:
            return bytes(stream.read())

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole, making directories as needed; raises ``OSError``."""
        system, base = self._open()
        target = f"{base}/{name}"
        direct = system.type_name in _OBJECT_STORES
        place = target if direct else f"{os.path.dirname(target)}/.{uuid.uuid4().hex}"
        system.create_dir(os.path.dirname(target), recursive=True)
        with system.open_output_stream(place) as stream:
            stream.write(data)
        if not direct:
            system.move(place, target)

    def names(self, directory: str) -> list[str]:
        """What is in a directory, in order; nothing where there is none."""
        return sorted(item.base_name for item in self._listed(directory))

    def names_by_age(self, directory: str) -> list[str]:
        """What is in a directory, the oldest first."""
        return [item.base_name for item in sorted(self._listed(directory), key=lambda item: item.mtime_ns or 0)]

    def remove_directory(self, directory: str) -> None:
        """Remove a directory and all in it."""
        system, base = self._open()
        system.delete_dir(f"{base}/{directory}")

    def remove(self, name: str) -> None:
        """Remove one file."""
        system, base = self._open()
        system.delete_file(f"{base}/{name}")

    def address(self, name: str) -> str:
        """The file as Spark names it."""
        return f"{self.root}/{name}" if "://" in self.root else f"file://{self.root}/{name}"

    def _listed(self, directory: str) -> list[Any]:
        system, base = self._open()
        found = system.get_file_info(fs.FileSelector(f"{base}/{directory}", allow_not_found=True))
        return [item for item in found if not item.base_name.startswith(".")]

    def _open(self) -> tuple[Any, str]:
        if "://" in self.root:
            system, base = fs.FileSystem.from_uri(self.root)
            return system, base.rstrip("/")
        return fs.LocalFileSystem(), self.root


def store_at(place: str) -> FleetStore:
    """The store at a path or an address."""
    return FleetStore(Files.at(place))
