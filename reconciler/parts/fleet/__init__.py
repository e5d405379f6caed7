"""Many clusters, compared and changed on Spark."""
