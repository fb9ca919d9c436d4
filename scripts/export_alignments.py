"""Writes word alignments as numbers and plots, like `nmt align`.

python scripts/export_alignments.py --model saved_models/demo --source source.txt --output alignments --format pdf
"""

import sys

from nmt.cli import main

if __name__ == "__main__":
    sys.exit(main(["align", *sys.argv[1:]]))
