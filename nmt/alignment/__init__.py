"""Word alignments: hard links and their formats, symmetrizing, and links read off attention."""
