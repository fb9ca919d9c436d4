"""Trains a model, like `nmt train`.

python scripts/train.py --config data/demo/config.yaml --training.seed 2 --name second
"""

import sys

from nmt.cli import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
