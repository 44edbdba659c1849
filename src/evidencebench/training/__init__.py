"""What fits systems from labels: the one place that reads them on purpose, and that no system imports."""
