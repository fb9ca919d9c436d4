"""The Transformer (Vaswani et al. 2017): encoder and decoder of attention alone.

Differences from the paper:

* Layer normalisation is in front of each sublayer and after the last one (Xiong et al. 2020), which needs no long
  warm-up of the learning rate.
* Dropout of the embeddings comes before the positions are added; the paper drops out the sum.
* With `words_in_readout`, the default, the read-out contains the attended source words (Nguyen and Chiang 2018;
  `readout.add_attended_words`).
"""
