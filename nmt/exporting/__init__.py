"""Exports: a run as files that other programs compute with."""
