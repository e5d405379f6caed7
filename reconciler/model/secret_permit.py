"""Which references to secrets the operator permits in manifests: whoever proposes a change chooses among these only."""

import posixpath
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model.secret_settings import REFERENCE

_CURE: Final = "the operator permits it in the connections file, below userSecrets of this cluster"


@dataclass(frozen=True, slots=True)
class SecretPermit:
    """Prefixes of the names of environment variables, and directories; nothing else is read, so by default nothing.

    ``verify_login``: whether apply may log in with a password that it has set.
    """

    env_prefixes: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    verify_login: bool = False

    def objection(self, reference: str) -> str | None:
        """Why a reference is not followed, with the cure; ``None`` if it is.

        Links are not looked at here: whoever reads the file looks at where it really is.
        """
        found = REFERENCE.fullmatch(reference)
        if found is None:
            return f"{reference} is not a reference"
        provider, _, rest = found[1].partition(":")
        if provider == "env":
            permitted = any(rest.startswith(prefix) for prefix in self.env_prefixes)
            return None if permitted else f"reading {reference} is not permitted: {_CURE} (envPrefixes)"
        path = rest.rpartition(":")[0]
        # The file of a file reference, the directory of a dir reference: both have to lie inside.
        inside = path.startswith("/") and any(_is_inside(path, one) for one in self.directories)
        if inside and provider == "file":
            inside = posixpath.normpath(path) not in map(posixpath.normpath, self.directories)
        return None if inside else f"reading {reference} is not permitted: {_CURE} (directories)"


def _is_inside(path: str, directory: str) -> bool:
    path, directory = posixpath.normpath(path), posixpath.normpath(directory)
    return path == directory or path.startswith(directory.rstrip("/") + "/")


NOTHING_PERMITTED: Final = SecretPermit()
