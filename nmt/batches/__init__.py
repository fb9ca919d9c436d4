"""Batches: which sentences make which batch, padded arrays, the encoded corpus on disk, the tf.data pipeline."""
