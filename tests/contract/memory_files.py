"""The files of a fleet store in memory: the second implementation of the port."""

from dataclasses import dataclass, field

from reconciler.parts.fleet.store import checked, with_digest


@dataclass
class MemoryFiles:
    """Implements ``fleet.StoreFiles``; the order of writing is the age."""

    root: str = "memory"
    _files: dict[str, bytes] = field(default_factory=dict)

    def read(self, name: str) -> bytes:
        """See the port."""
        if name not in self._files:
            raise FileNotFoundError(name)
        return checked(name, self._files[name])

    def write(self, name: str, data: bytes) -> str:
        """See the port."""
        name, data = with_digest(name, data)
        self._files.pop(name, None)
        self._files[name] = bytes(data)
        return name

    def names(self, directory: str) -> list[str]:
        """See the port."""
        return sorted(self.names_by_age(directory))

    def names_by_age(self, directory: str) -> list[str]:
        """See the port."""
        below = [name.removeprefix(f"{directory}/") for name in self._files if name.startswith(f"{directory}/")]
        return list(dict.fromkeys(name.partition("/")[0] for name in below))

    def remove(self, name: str) -> None:
        """See the port."""
        if name not in self._files:
            raise FileNotFoundError(name)
        del self._files[name]

    def remove_directory(self, directory: str) -> None:
        """See the port."""
        for name in [name for name in self._files if name.startswith(f"{directory}/")]:
            del self._files[name]

    def address(self, name: str) -> str:
        """See the port; Spark does not read it."""
        return f"memory:{name}"
