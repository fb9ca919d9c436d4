"""The network: attention, encoder, decoders, read-out, losses, and the model that joins them."""
