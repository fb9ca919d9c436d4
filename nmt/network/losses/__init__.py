"""The losses of training: label-smoothed cross-entropy, the output layer fused with this loss, and guided alignment."""
