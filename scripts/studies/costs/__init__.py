"""What attention costs: formulas, mechanisms, measurements, report."""
