"""The commands ``usage`` and ``tighten``."""
