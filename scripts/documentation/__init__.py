"""The parts of the documentation that the code and the results file write, and the extensions of Sphinx."""
