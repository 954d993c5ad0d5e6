"""From a polynomial to closed-form weights: plan, phases, weights, certificate."""
