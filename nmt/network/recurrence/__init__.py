"""The parts of recurrences: GRU and LSTM steps, and kernels whose gradients are formed once for all steps."""
