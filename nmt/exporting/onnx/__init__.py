"""A model as two ONNX graphs, written from its weights with ONNX's own operators.

Each module has the part of the network that the module of `nmt.network` with its name has: `encoder`, `decoder`,
`scores`, `windows`, `readout`, `transformer`. `model` puts the parts together, `graph` writes the operators.
"""
