"""The losses of training: label-smoothed cross-entropy, the same fused with the output layer, guided alignment."""
