"""Files of Java properties, as Kafka's own tools take them."""

from pathlib import Path
from typing import Final

_LARGEST: Final = 1024 * 1024


def read_properties(file: Path) -> dict[str, str]:
    """Keys and values; raises ``ValueError`` without a value of the file, which may be a secret."""
    import javaproperties  # noqa: PLC0415 - it loads an HTTP client, a mail parser and XML, for few files' sake

    try:
        with file.open("rb") as opened:
            raw = opened.read(_LARGEST + 1)
        text = raw.decode()
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8 text") from None
    if len(raw) > _LARGEST:
        raise ValueError("the file is larger than 1 MiB")
    try:
        return javaproperties.loads(text)
    except javaproperties.InvalidUEscapeError:
        raise ValueError("it is no file of Java properties: \\u is not followed by four hex digits") from None
