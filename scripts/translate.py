"""Translates a file, standard input or typed sentences, like `nmt translate`.

python scripts/translate.py --model saved_models/demo --source source.txt --output translation.txt
"""

import sys

from nmt.cli import main

if __name__ == "__main__":
    sys.exit(main(["translate", *sys.argv[1:]]))
