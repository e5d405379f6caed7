"""Commands that change manifests: grant, revoke, rename, adopt, users, break-glass."""
