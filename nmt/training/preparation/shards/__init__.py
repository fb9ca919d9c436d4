"""`nmt prepare`: a corpus of any size as shards of ids, made by several processes that can be interrupted."""
