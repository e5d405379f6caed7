"""YAML text to declarations to desired state; every problem with its place. Takes texts, never files."""
