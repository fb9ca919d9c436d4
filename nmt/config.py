"""The configuration of a run: nested frozen dataclasses, checked when they are made.

Only the standard library is imported here, so that a configuration can be read and shown without Keras. The
docstrings below the fields are the help texts of the command line.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

from nmt.errors import NmtError

Precision = Literal["auto", "float32", "mixed_float16", "mixed_bfloat16"]


class ConfigError(NmtError):
    """A value that cannot be used, or two that contradict each other; the message names the field and the fix."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


def _require_rate(owner: object, *names: str) -> None:
    for name in names:
        value = getattr(owner, name)
        _require(0 <= value < 1, f"{name} is {value}: expected a number from 0 up to, not including, 1")


def _require_positive(owner: object, *names: str) -> None:
    for name in names:
        value = getattr(owner, name)
        _require(value > 0, f"{name} is {value}: expected more than 0")


@dataclass(frozen=True)
class PairsConfig:
    """One set of sentence pairs: two line-parallel files, one TSV file, or a TensorFlow dataset. Empty: no pairs."""

    source: str = ""
    """File of source sentences, one a line (.gz is read too; - is standard input)."""
    target: str = ""
    """File of target sentences, line by line those of the source."""
    tsv: str = ""
    """Instead of two files: one file with a pair a line, columns separated by tabs (.gz is read too)."""
    source_column: int = 1
    """Column of the source sentence in the TSV file, counted from 1."""
    target_column: int = 2
    """Column of the target sentence in the TSV file, counted from 1."""
    tfds: str = ""
    """Instead of files: a TensorFlow dataset, such as ted_hrlr_translate/pt_to_en."""
    split: str = "train"
    """Split of the TensorFlow dataset."""
    tfds_source: str = ""
    """Feature of the TensorFlow dataset that is the source; empty: as its supervised keys say."""
    tfds_target: str = ""
    """Feature of the TensorFlow dataset that is the target; empty: as its supervised keys say."""
    tfds_directory: str = ""
    """Directory of prepared TensorFlow datasets; empty: the library's own default."""
    alignment: str = ""
    """Gold word alignment in Pharaoh format, a line a pair; used to measure, never to train (training.guided.links
    is what trains)."""

    def __post_init__(self) -> None:
        kinds = [bool(self.source or self.target), bool(self.tsv), bool(self.tfds)]
        _require(sum(kinds) <= 1, "pairs are given in more than one way: keep source and target, or tsv, or tfds")
        _require(bool(self.source) == bool(self.target), "source and target go together: one of the two is missing")
        _require_positive(self, "source_column", "target_column")

    def __bool__(self) -> bool:
        return bool(self.source or self.tsv or self.tfds)


@dataclass(frozen=True)
class CorpusConfig:
    """Where the sentence pairs come from and which of them are used."""

    train: PairsConfig = field(default_factory=PairsConfig)
    """Pairs to train on."""
    validation: PairsConfig = field(default_factory=PairsConfig)
    """Pairs to validate on; without them `held_out` pairs of the training set are kept aside."""
    held_out: int = 1000
    """Training pairs kept aside for validation where no validation set is given; whatever shares a side with one
    of them leaves the training set."""
    max_pieces: int = 100
    """Longest training sentence in pieces, either side."""
    on_invalid: Literal["stop", "drop"] = "stop"
    """What to do with a line that is not valid UTF-8: stop and name it, or drop the pair and count it."""
    on_empty: Literal["stop", "drop"] = "drop"
    """What to do with a pair that has an empty side."""
    on_long: Literal["drop", "truncate"] = "drop"
    """What to do with a training pair that is longer than max_pieces."""

    def __post_init__(self) -> None:
        _require_positive(self, "held_out", "max_pieces")


@dataclass(frozen=True)
class VocabularyConfig:
    """How sentences are cut into pieces."""

    type: Literal["unigram", "bpe", "char", "word"] = "unigram"
    """Kind of SentencePiece model."""
    size: int = 8000
    """Pieces of the source, or of both languages where the vocabulary is shared, special symbols included."""
    target_size: int = 0
    """Pieces of the target where the vocabularies are separate; 0: as many as the source."""
    shared: bool = True
    """One vocabulary for both languages (needed to tie all embeddings), or one for each."""
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    """Unicode normalisation; cf folds case."""
    character_coverage: float = 1.0
    """Share of the text's characters that get a piece of their own; 0.9995 suits Chinese and Japanese."""
    symbols: tuple[str, ...] = ()
    """Strings that are always one piece, such as <de> or a placeholder."""

    def __post_init__(self) -> None:
        _require(self.size >= 8, f"size is {self.size}: a vocabulary needs at least 8 pieces")
        _require(0.98 <= self.character_coverage <= 1, "character_coverage: expected a number from 0.98 to 1")
        _require(self.target_size >= 0, "target_size: expected 0 or more")
        _require(
            not (self.shared and self.target_size), "target_size is for separate vocabularies: set shared to false"
        )


@dataclass(frozen=True)
class DropoutConfig:
    """Share of values set to zero in training, place by place."""

    embedding: float = 0.3
    """Source and target embeddings."""
    encoder: float = 0.3
    """Outputs of every layer of a recurrent encoder, so of the memory too."""
    state: float = 0.0
    """Decoder state where the recurrence reads it; one mask a sentence (Gal and Ghahramani 2016)."""
    context: float = 0.0
    """Context vector (of a Luong decoder: attentional vector) where the recurrence reads it, not where the read-out
    does; one mask a sentence."""
    readout: float = 0.3
    """Read-out, before the output layer."""
    residual: float = 0.1
    """Transformer: what each of its sublayers adds to its input."""

    def __post_init__(self) -> None:
        _require_rate(self, "embedding", "encoder", "state", "context", "readout", "residual")


@dataclass(frozen=True)
class AttentionConfig:
    """How a recurrent decoder attends to the encoded source."""

    score: Literal["none", "additive", "dot", "scaled_dot", "general", "gaussian", "location"] = "additive"
    """What a query and a key are compared by: the hidden layer of Bahdanau et al. (2015); the dot, general or location
    score of Luong et al. (2015); scaled dot products (Vaswani et al. 2017); a Gaussian kernel of learned width; or
    none, no attention, every step reads the encoder's final state."""
    window: Literal["global", "local_m", "local_p", "hard"] = "global"
    """Where it may look: everywhere; around the step's own position or a predicted one (Luong et al. 2015); or at one
    position alone."""
    units: int = 256
    """Width of the additive score's hidden layer, and of the one that predicts a position."""
    reach: int = 5
    """Positions that a local window reaches to either side of its centre."""
    positions: int = 128
    """Positions that the location score can tell apart; it never looks behind them."""

    def __post_init__(self) -> None:
        _require_positive(self, "units", "reach", "positions")
        _require(
            self.score != "none" or self.window == "global",
            f"window is {self.window}, but score none attends to nothing: leave window global, or choose a score",
        )


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes of Transformer layers (Vaswani et al. 2017); their width is that of the embeddings."""

    encoder_layers: int = 3
    """Layers of the encoder."""
    decoder_layers: int = 3
    """Layers of the decoder."""
    heads: int = 4
    """Heads of each attention; they divide the width of the embeddings."""
    feed_forward: int = 1024
    """Width of the hidden layer of each position's own network."""
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    """How a position is told: by sines and cosines, or by a learned embedding."""
    longest: int = 512
    """Positions that have an embedding, where it is learned; those behind share the last one's."""
    alignment_layer: int = 0
    """Decoder layer whose attention to the source, its heads averaged, is the alignment, counted from 1; 0: the
    last."""

    def __post_init__(self) -> None:
        _require_positive(self, "encoder_layers", "decoder_layers", "heads", "feed_forward", "longest")
        _require(
            0 <= self.alignment_layer <= self.decoder_layers,
            f"alignment_layer is {self.alignment_layer}: expected 0, or a layer from 1 to {self.decoder_layers}",
        )


@dataclass(frozen=True)
class ModelConfig:
    """The network."""

    architecture: Literal["rnn", "transformer", "mixed"] = "rnn"
    """BiLSTM encoder and recurrent decoder; Transformer encoder and decoder; or Transformer encoder and recurrent
    decoder."""
    decoder: Literal["bahdanau", "luong"] = "bahdanau"
    """Recurrent decoder: attends with its previous state, the context enters the recurrence (Bahdanau et al. 2015); or
    attends with its new state, after the recurrence (Luong et al. 2015)."""
    cell: Literal["gru", "lstm"] = "gru"
    """Cell of the recurrent decoder."""
    units: int = 512
    """Width of the recurrent decoder's state."""
    memory: int = 0
    """Width of the BiLSTM's memory, half of it for each direction; 0: as wide as the decoder state."""
    embedding: int = 256
    """Width of the embeddings, and of a Transformer."""
    readout: int = 0
    """Width of the read-out, which the output layer multiplies; 0: as wide as the embeddings, as it must be where the
    output layer is tied to them, and in a Transformer."""
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    """Attention of the recurrent decoder."""
    piece_in_query: bool = True
    """Whether a Bahdanau decoder asks with the previous target piece besides its previous state (without: Bahdanau et
    al. 2015 to the letter)."""
    input_feeding: bool = True
    """Whether a Luong decoder reads the attentional vector of the step before."""
    encoder_layers: int = 1
    """Bidirectional LSTM layers, one on top of the other."""
    transformer: TransformerConfig = field(default_factory=TransformerConfig)
    """Transformer layers."""
    tie: Literal["none", "target", "all"] = "all"
    """Embeddings that share their weights: none; target and output; or source, target and output."""
    dropout: DropoutConfig = field(default_factory=DropoutConfig)
    """Dropout rates."""

    @property
    def attends(self) -> bool:
        """Whether there is any attention to the source."""
        return self.architecture == "transformer" or self.attention.score != "none"

    @property
    def memory_width(self) -> int:
        """Width of the encoder's output."""
        return self.memory or self.units if self.architecture == "rnn" else self.embedding

    @property
    def readout_width(self) -> int:
        """Width of what the output layer multiplies."""
        return self.readout or self.embedding

    def __post_init__(self) -> None:
        _require_positive(self, "units", "embedding", "encoder_layers")
        _require(self.memory >= 0 and self.readout >= 0, "memory and readout: expected 0 or more")
        if self.architecture == "rnn":
            name, width = ("memory", self.memory) if self.memory else ("units", self.units)
            halves = "half for each direction of the encoder"
            _require(width % 2 == 0, f"{name} is {width}: expected an even number, {halves}")
        else:
            heads = self.transformer.heads
            _require(
                self.embedding % (2 * heads) == 0,
                f"embedding is {self.embedding}: a Transformer of {heads} heads needs a multiple of {2 * heads}",
            )
        free = self.tie == "none" and self.architecture != "transformer"
        _require(
            free or self.readout in (0, self.embedding),
            f"readout is {self.readout}, but the output layer is tied to embeddings of width {self.embedding}: "
            "leave readout 0, or set tie to none",
        )
        equal = self.attention.score in ("dot", "scaled_dot", "gaussian")
        _require(
            not equal or self.architecture == "transformer" or self.memory_width == self.units,
            f"attention.score {self.attention.score} compares a state of {self.units} with a memory of "
            f"{self.memory_width}: give them one width (units, and memory or, in a Transformer encoder, embedding), or "
            "choose general",
        )


@dataclass(frozen=True)
class ScheduleConfig:
    """The learning rate over the steps: linear warm-up, then decay."""

    learning_rate: float = 1e-3
    """Highest learning rate, reached at the end of the warm-up."""
    warmup_steps: int = 400
    """Steps of linear warm-up from zero; a fifth of all steps at most."""
    decay: Literal["constant", "cosine", "inverse_sqrt"] = "cosine"
    """After the warm-up: stay; fall to `final_share` at the last step along a cosine; or fall as 1/sqrt(step)."""
    final_share: float = 0.05
    """Share of the highest learning rate that the cosine ends at."""

    def __post_init__(self) -> None:
        _require_positive(self, "learning_rate")
        _require(self.warmup_steps >= 0, "warmup_steps: expected 0 or more")
        _require(0 <= self.final_share <= 1, "final_share: expected a number from 0 to 1")


@dataclass(frozen=True)
class CheckpointConfig:
    """What is kept on disk while training."""

    every: int = 0
    """Steps between two checkpoints; 0: at each validation."""
    keep: int = 1
    """How many of the newest checkpoints are kept (the best weights are kept beside them)."""

    def __post_init__(self) -> None:
        _require(self.every >= 0, "every: expected 0 or more steps")
        _require_positive(self, "keep")


@dataclass(frozen=True)
class GuidedConfig:
    """Guided alignment (Chen et al. 2016): attention learns from word links beside the translation."""

    links: str = ""
    """Word links of the training pairs in Pharaoh format, a line a pair, as an aligner writes them; they train, and
    nothing is measured by them. Empty: attention learns from translating alone."""
    weight: float = 1.0
    """What the cross-entropy between links and attention counts beside the translation's in the first pass."""
    decay: float = 1.0
    """What the weight is multiplied by after each pass."""

    def __post_init__(self) -> None:
        _require_positive(self, "weight", "decay")
        _require(self.decay <= 1, f"decay is {self.decay}: expected 1 or less")


@dataclass(frozen=True)
class TrainingConfig:
    """How the model is trained."""

    passes: int = 20
    """Passes over the training pairs at most."""
    batch_tokens: int = 1200
    """Largest batch: sentences times the length of its longest sentence, in pieces of the longer side."""
    window: int = 20000
    """Pairs that are sorted by length together before they are cut into batches."""
    shapes: int = 0
    """How many shapes batches have at most, for a compiler that makes a program for each; 0: on JAX 24, on TensorFlow,
    where one program takes any shape, as many as pad least."""
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    """Learning rate."""
    clip_norm: float = 1.0
    """Gradients are scaled down to this global norm; 0: never."""
    label_smoothing: float = 0.1
    """Probability mass taken from the right piece and spread evenly over the vocabulary."""
    guided: GuidedConfig = field(default_factory=GuidedConfig)
    """Guided alignment."""
    ema: float = 0.999
    """Decay of the exponential moving average of the weights, which is what validates and translates; less in the
    first steps, so that a short run's average is of its last third; 0: none."""
    validate_every: int = 0
    """Steps between two validations; 0: at the end of each pass."""
    metric: Literal["bleu", "loss"] = "bleu"
    """What decides which weights are the best and when to stop early."""
    patience: int = 6
    """Validations without a better metric after which training ends; 0: never."""
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    """What is kept on disk."""
    precision: Precision = "auto"
    """Type of the matrix products; auto decides from what the hardware reports and a short trial, and the run saves
    what it was."""
    seed: int = 1
    """Seed of everything random: initial weights, order of the pairs, dropout."""
    deterministic: bool = False
    """Same seed, same weights to the bit (some operations are slower)."""
    log_every: int = 50
    """Steps between two lines of progress where standard error is not a terminal."""

    def __post_init__(self) -> None:
        _require_positive(self, "passes", "batch_tokens", "window", "log_every")
        _require_rate(self, "label_smoothing", "ema")
        for name in ("shapes", "clip_norm", "validate_every", "patience"):
            _require(getattr(self, name) >= 0, f"{name} is {getattr(self, name)}: expected 0 or more")


@dataclass(frozen=True)
class SearchConfig:
    """How a translation is searched for."""

    method: Literal["beam", "sample"] = "beam"
    """Search for the likeliest, or draw from the model's distribution."""
    beam_size: int = 5
    """Hypotheses kept at each step of beam search; 1 is greedy search."""
    length_penalty: float = 1.0
    """Alpha of the length normalisation; 0: none."""
    normalization: Literal["wu", "power"] = "wu"
    """Log-probabilities are divided by ((5 + length) / 6) ** alpha (Wu et al. 2016), or by length ** alpha."""
    coverage_penalty: float = 0.0
    """Weight of the penalty on source pieces that got little attention (Wu et al. 2016); 0: none."""
    min_length_ratio: float = 0.0
    """Shortest translation in pieces: this many times the source's pieces."""
    max_length_ratio: float = 2.0
    """Longest translation in pieces: this many times the source's pieces, plus 10."""
    no_repeat_ngram: int = 0
    """No run of this many pieces comes twice in a translation; 0: any may."""
    suppress: tuple[str, ...] = ()
    """Pieces that never come, such as <unk>."""
    diversity: float = 0.0
    """What the second, third, ... best continuation of one hypothesis pays, once, twice, ..., in the choice, so that
    n-best lists differ more (Li et al. 2016); 0: none."""
    temperature: float = 1.0
    """Of sampling: log-probabilities are divided by it."""
    top_k: int = 0
    """Of sampling: only this many of the likeliest pieces; 0: all."""
    top_p: float = 1.0
    """Of sampling: only the likeliest pieces that together have this probability (Holtzman et al. 2020); 1: all."""
    seed: int = 1
    """Of sampling: the same seed draws the same translation of the same line."""
    copy_unknown: bool = False
    """Write the source word that it is aligned to, or what a dictionary says of that, for an unknown piece."""
    max_source: int = 400
    """Longest source sentence in pieces; a longer one is cut there, and said so."""
    batch_tokens: int = 4000
    """Largest batch to translate at once: sentences times beam size times the longest source in pieces."""

    def __post_init__(self) -> None:
        _require_positive(self, "beam_size", "max_length_ratio", "temperature", "max_source", "batch_tokens")
        for name in ("length_penalty", "coverage_penalty", "min_length_ratio", "no_repeat_ngram", "diversity", "top_k"):
            _require(getattr(self, name) >= 0, f"{name} is {getattr(self, name)}: expected 0 or more")
        _require(0 < self.top_p <= 1, f"top_p is {self.top_p}: expected a number above 0, at most 1")
        _require(0 <= self.seed < 2**32, f"seed is {self.seed}: expected a number from 0 to {2**32 - 1}")
        ratio = f"min_length_ratio is {self.min_length_ratio}, above max_length_ratio, {self.max_length_ratio}"
        _require(self.min_length_ratio <= self.max_length_ratio, f"{ratio}: lower it")


@dataclass(frozen=True)
class RunConfig:
    """Everything that one run is made from; saved whole beside the weights."""

    name: str = "run"
    """Name of the run; its directory is `directory`/`name`."""
    directory: str = "saved_models"
    """Where run directories are."""
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    """Sentence pairs."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    """Pieces."""
    model: ModelConfig = field(default_factory=ModelConfig)
    """Network."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """Training."""
    search: SearchConfig = field(default_factory=SearchConfig)
    """Search, also of the validation and the default of `nmt translate`."""

    def __post_init__(self) -> None:
        _require(bool(self.name) and "/" not in self.name, f"name is '{self.name}': expected a plain folder name")
        _require(
            self.vocabulary.shared or self.model.tie != "all",
            "model.tie is 'all' but the vocabularies are separate: set vocabulary.shared to true, or tie to 'target'",
        )
        _require(
            not self.training.guided.links or self.model.attends,
            "training.guided.links guides attention, but model.attention.score is none: choose a score",
        )


def to_dict(config: Any) -> dict[str, Any]:
    """The configuration as plain nested dictionaries, tuples as lists: what is written to JSON or YAML."""
    return {
        f.name: to_dict(value)
        if dataclasses.is_dataclass(value)
        else list(value)
        if isinstance(value, tuple)
        else value
        for f in dataclasses.fields(config)
        for value in [getattr(config, f.name)]
    }


def from_dict(kind: type, values: dict[str, Any]) -> Any:
    """Reads back what `to_dict` wrote.

    Raises:
        ConfigError: a field that `kind` does not have, or a value that it refuses; the message begins with the group
            that it is in, such as `corpus.train`.
    """
    return _from_dict(kind, values, "")


def _from_dict(kind: type, values: dict[str, Any], group: str) -> Any:
    where = f"{group}: " if group else ""
    _require(isinstance(values, dict), f"{where}expected fields and their values")
    fields = {f.name: f for f in dataclasses.fields(kind)}
    unknown = sorted(set(values) - set(fields))
    _require(not unknown, f"{where}unknown field {', '.join(unknown)}")
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        nested = fields[name].default_factory
        if dataclasses.is_dataclass(nested):
            arguments[name] = _from_dict(nested, value, f"{group}.{name}" if group else name)
        else:
            arguments[name] = tuple(value) if isinstance(value, list) else value
    try:
        return kind(**arguments)
    except ConfigError as error:
        raise ConfigError(f"{where}{error}") from None
