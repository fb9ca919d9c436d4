"""The server: translations, alignments and scores over HTTP, and the page that shows them.

A translator does the work. Nothing here imports Keras or TensorFlow.
"""
