"""A live cluster as manifests that a person would have written, and that plan to nothing against it.

Whatever a manifest cannot say is returned, and stands as a comment where a reader will see it.
"""
