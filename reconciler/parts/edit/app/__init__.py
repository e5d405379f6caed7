"""Edits of manifests as use cases."""
