"""The commands that edit manifests."""
