"""Training on several devices of one machine and on several machines: the replicas of a model, and their sums.

Each replica holds all weights and trains on its own rows of a batch. The replicas divide their losses by the tokens of
the whole batch and add their gradients, so that one update of all replicas is one update by the whole batch.
"""
