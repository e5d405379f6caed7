"""Parts beside the core: each has its commands, use cases and views. The core imports none."""
