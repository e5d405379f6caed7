"""YAML text to nodes with places, and the problems found in them."""
