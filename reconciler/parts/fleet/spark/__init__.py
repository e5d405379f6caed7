"""Spark performs, pyarrow stores and carries, Polars compares: the only place with any of them.

Nothing is imported here, so that a command starts fast. Doors: ``session``, ``store``, ``collecting``, ``compiling``,
``comparing``, ``tasks``, ``views``, ``usage``.
"""
