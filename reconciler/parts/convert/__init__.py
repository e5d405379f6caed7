"""The files of other tools as manifests."""
