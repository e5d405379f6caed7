"""The listed kinds of resources: a file each says what is special about it, on whatever floor.

Above all floors that ask, and imported by none: :func:`reconciler.model.kinds.listed_kind` finds a kind by the type of
its resources when it is first asked for.
"""
