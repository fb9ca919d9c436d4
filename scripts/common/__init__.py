"""Code that all scripts share."""
