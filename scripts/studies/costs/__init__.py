"""The costs of mechanisms that relate the positions of a sequence: formulas, measurements, report."""
