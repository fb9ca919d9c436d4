"""The quality to expect of a training: from figures of its text, and from a short training, with its uncertainty."""
