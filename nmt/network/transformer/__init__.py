"""The Transformer (Vaswani et al. 2017): encoder and decoder of attention alone.

There is one difference from the paper. Layer normalisation is in front of each sublayer and after the last one (Xiong
et al. 2020), which needs no long warm-up of the learning rate."""
