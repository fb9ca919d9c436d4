"""Bulk translation: very much text through a translator on Apache Beam, on one machine or many.

Text is cut into shards. A worker translates a shard and writes it, complete or not at all, before it takes the next
one. So a job that was interrupted goes on behind its finished shards, on every engine. A group by key over lines would
not allow that: engines for batches finish it before the first line behind it.
"""
