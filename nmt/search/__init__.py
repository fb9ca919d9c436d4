"""Search over a step function: greedy, beam and sampling, guided by what must and must not be there. Knows no model.

Greedy search is beam search with one hypothesis, sampling is a beam of independent ones: there is one loop.
"""

from nmt.search.beam import (
    IMPOSSIBLE,
    Among,
    Beam,
    Choose,
    Continuations,
    Distribution,
    Found,
    Guide,
    Search,
    State,
    Step,
    best_continuations,
    ranked_continuations,
    repeat_rows,
    search,
    take_slots,
)
from nmt.search.constraints import BankedContinuations, Constraints
from nmt.search.likeliest import BLOCK, log_sum
from nmt.search.ranking import Ranking, coverage_penalty, length_penalty
from nmt.search.restrictions import AtLeast, NoRepeatedNgram, Prefix, Suppressed
from nmt.search.sampling import Sampling

__all__ = [
    "BLOCK",
    "IMPOSSIBLE",
    "Among",
    "AtLeast",
    "BankedContinuations",
    "Beam",
    "Choose",
    "Constraints",
    "Continuations",
    "Distribution",
    "Found",
    "Guide",
    "NoRepeatedNgram",
    "Prefix",
    "Ranking",
    "Sampling",
    "Search",
    "State",
    "Step",
    "Suppressed",
    "best_continuations",
    "coverage_penalty",
    "length_penalty",
    "log_sum",
    "ranked_continuations",
    "repeat_rows",
    "search",
    "take_slots",
]
