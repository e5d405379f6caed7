"""Memory between two rounds of a server goes back to the system."""

import platform
from pathlib import Path

import pytest

from reconciler.system.process import give_back


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def test_what_is_free_between_what_is_not_goes_back() -> None:
    """Every 64 KiB block is free, and the small one that was allocated after it is not."""
    if platform.libc_ver()[0] != "glibc":
        assert give_back() is False
        return
    kept = [(bytearray(64 * 1024), bytearray(600)) for _ in range(600)]
    full = _resident()
    small = [last for _, last in kept]
    del kept
    assert give_back()
    assert _resident() < full - 20 * 2**20
    assert len(small) == 600


def test_where_the_library_cannot_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    assert give_back() is False
