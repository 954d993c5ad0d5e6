"""Training: settings, models, the one engine, ensembles, runs and mixtures."""
