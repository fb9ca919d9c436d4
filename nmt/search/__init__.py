"""Search over a step function: greedy search, beam search and sampling, with restrictions. It knows no model.

`loop` extends the hypotheses of a beam (`hypotheses`) by one piece per step. The step function gives a distribution
over the next piece (`distribution`, `next_pieces`). `restrictions` and `required_phrases` forbid pieces.
`preferred_phrases` gives a bonus for phrases; `phrase_tracking` follows phrases.
`greedy_and_beam` and `sampling` select the continuations. `length_and_coverage_penalty` scores the hypotheses.
"""

from nmt.search.distribution import IMPOSSIBLE, Distribution, PieceSubset, State, Step
from nmt.search.greedy_and_beam import Select, select_most_probable
from nmt.search.hypotheses import Beam, SearchResult, repeat_rows, take_slots
from nmt.search.length_and_coverage_penalty import Scoring, coverage_penalty, length_penalty
from nmt.search.loop import SearchMethod, search
from nmt.search.next_pieces import NextPieces
from nmt.search.phrase_tracking import PhraseTracker
from nmt.search.preferred_phrases import PreferredPhrases
from nmt.search.required_phrases import Constraints, PhraseSelection, most_candidates
from nmt.search.restrictions import ForcedPrefix, MinimumLength, NoRepeatedNgram, Restriction, SuppressedPieces
from nmt.search.sampling import Sampling
from nmt.search.top_k import MINIMUM_BLOCK, log_sum_exp

__all__ = [
    "IMPOSSIBLE",
    "MINIMUM_BLOCK",
    "Beam",
    "Constraints",
    "Distribution",
    "ForcedPrefix",
    "MinimumLength",
    "NextPieces",
    "NoRepeatedNgram",
    "PhraseSelection",
    "PhraseTracker",
    "PieceSubset",
    "PreferredPhrases",
    "Restriction",
    "Sampling",
    "Scoring",
    "SearchMethod",
    "SearchResult",
    "Select",
    "State",
    "Step",
    "SuppressedPieces",
    "coverage_penalty",
    "length_penalty",
    "log_sum_exp",
    "most_candidates",
    "repeat_rows",
    "search",
    "select_most_probable",
    "take_slots",
]
