"""The network: from source and target ids to logits and losses.

`model` embeds the source ids. An encoder (`encoder`, or `transformer.encoder`) turns the embeddings into the memory,
one vector per source position. At each target step, a decoder (`decoder`, or `transformer.decoder`) attends to the
memory (`attention`) and computes the read-out (`readout`). The output layer (`output_layer`) turns the read-out into
logits, one per target piece, and `losses` compares the logits with the target. `architectures` chooses encoder and
decoder, `recurrence` has the GRU and the LSTM, and `weights` saves and loads variables."""
