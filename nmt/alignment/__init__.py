"""Word alignments: gold links and their file formats, symmetrizing, hard links from attention."""
