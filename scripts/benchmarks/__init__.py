"""Measurements of speed, memory and quality."""
