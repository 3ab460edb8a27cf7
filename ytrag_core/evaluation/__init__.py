"""Questions, metrics and baselines."""
