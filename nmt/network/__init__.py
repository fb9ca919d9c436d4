"""The network: attention, encoder, decoders, read-out, dropout, losses, and the model that joins them."""
