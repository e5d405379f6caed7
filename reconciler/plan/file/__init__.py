"""A plan as a file: canonical JSON and back, its schema, its names, and what a spoilt one is refused for."""
