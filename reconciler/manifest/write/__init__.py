"""Manifests as YAML text: what a cluster has, as a person would have written it."""
