"""The editor of manifests: files that declare what is wanted, and are otherwise as people wrote them. Pure."""

from reconciler.edit.editing import EditError, Texts, edited
from reconciler.edit.pages import Book, read

__all__ = ["Book", "EditError", "Texts", "edited", "read"]
