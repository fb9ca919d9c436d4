"""The search for hyper-parameters: a space of settings, its trials, the study that chooses them, and the report."""
