"""A live cluster as manifests that a person would have written, and that plan to nothing against it.

Whatever a manifest cannot say is returned, and stands as a comment where a reader will see it.
"""

from reconciler.report.export.cluster import cluster_document
from reconciler.report.export.manifests import Export, export_manifests
from reconciler.report.export.proof import differences
from reconciler.report.export.style import ExportStyle

__all__ = ["Export", "ExportStyle", "cluster_document", "differences", "export_manifests"]
