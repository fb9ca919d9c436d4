// Strings through an exported network: translations, given pairs, and erasure, in the form of the server's answers.
import { LINKED_BY, emptyAlignment, rounded, sumByWord, wordAlignment } from "./alignment.js";
import { search } from "./search.js";
import { SourceText } from "./source_text.js";
import { Tokenizer } from "./tokenizer.js";
import { UNKNOWN, withCopies } from "./unknown_words.js";
import { singleSpaced, spacedWords, unspacedWords } from "./words.js";

const ERASED_TOGETHER = 16; // sentences without a word that the network reads at once

export class RequestError extends Error {
  status = 422;
}

export class Translator {
  // `settings` is the content of page.json, `network` a `Network`, `vocabularies` two model files as bytes.
  constructor(settings, network, vocabularies) {
    Object.assign(this, { settings, network });
    const { source, target } = settings.words;
    const words = [source, target].map((language) => (language ? unspacedWords(language) : spacedWords));
    [this.source, this.target] = vocabularies.map((bytes, side) => new Tokenizer(bytes, words[side]));
    this.text = new SourceText(this.source, settings.reading, settings.model.source.tag, settings.words.source !== null);
  }

  // The translations of a text, best first. `prefix` begins them, and words of `erase` are left out. `pause` is called
  // between sentences.
  async translate(text, { beam_size: beam, n_best: count = 1, prefix = "", erase = [] }, pause = async () => {}) {
    const given = erase.length > 0 ? without(text, this.source.words(text), new Set(erase)) : text;
    const parts = count > 1 || prefix !== "" ? [given] : this.text.sentences(given);
    const slots = beam ?? Math.max(this.settings.search.beam_size, count);
    const found = [];
    for (const part of parts) {
      if (found.length > 0) await pause();
      found.push(await this.#search(part, slots, count, prefix));
    }
    const candidates = parts.length === 1 ? found[0] : [joinedCandidate(parts, found.map(([best]) => best), this)];
    return { source: given, source_words: this.source.words(text), candidates };
  }

  async #search(text, slots, count, prefix) {
    const source = cut(this.text.segment(text), this.settings.search.max_source);
    if (source.ids.length === 0) return [this.#empty(source, { text: "", words: [] })];
    const decoder = await this.network.decoder([source.ids]);
    const found = await search(decoder, this.#options(source.ids.length, slots, count, this.#prefix(prefix)));
    const all = found.map((hypothesis) => this.#found(source, this.target.join(hypothesis.ids), hypothesis));
    return all.filter((one, place) => all.findIndex(({ text: other }) => other === one.text) === place); // each text once
  }

  #found(source, target, hypothesis) {
    const found = candidate(source, target, hypothesis);
    return this.settings.search.copy_unknown && target.ids.includes(UNKNOWN) ? withCopies(found, target) : found;
  }

  #options(length, slots, nbest, prefix) {
    const { settings } = this;
    const limit = this.#longest(length) + prefix.length;
    return {
      slots,
      nbest,
      prefix,
      limit,
      least: Math.min(Math.floor(settings.search.min_length_ratio * length), limit - 1),
      suppressed: settings.suppressed,
      noRepeatNgram: settings.search.no_repeat_ngram,
      alpha: settings.search.length_penalty,
      normalization: settings.search.normalization,
      coverage: settings.search.coverage_penalty,
      diversity: prefix.length > 0 ? 0 : settings.search.diversity,
      prune: prefix.length > 0 ? 0 : settings.search.prune,
    };
  }

  // Pieces of the longest translation of a source.
  #longest(length) {
    return Math.ceil(this.settings.search.max_length_ratio * length) + 10;
  }

  #prefix(text) {
    const ids = text === "" ? [] : this.target.encode(text);
    if (!ids.includes(UNKNOWN)) return ids;
    throw new RequestError(`'${text}' has characters that the model cannot write: leave them out`);
  }

  #empty(source, target) {
    return {
      text: target.text,
      log_probability: 0,
      score: 0,
      truncated: Boolean(source.cut || target.cut),
      word_log_probabilities: target.words.map(() => 0),
      alignment: emptyAlignment(source, target),
    };
  }

  // A given translation, scored and aligned.
  async align(text, translation) {
    const { source, target } = this.#pair(text, translation);
    if (source.ids.length === 0 || target.ids.length === 0) return this.#empty(source, target);
    const [{ costs, weights }] = await this.network.score([source.ids], target.ids);
    const logProbability = costs.reduce((sum, cost) => sum + cost, 0);
    return candidate(source, target, { costs, weights, logProbability, score: logProbability, finished: true });
  }

  #pair(text, translation) {
    const { max_source: most } = this.settings.search;
    const source = cut(this.text.segment(text), most);
    return { source, target: cut(this.target.segment(translation), this.#longest(most)) };
  }

  // The nats that each target word loses without each source word: [target words][source words].
  async explain(text, translation, pause = async () => {}) {
    const { source, target } = this.#pair(text, translation);
    const falls = target.words.map(() => source.words.map(() => 0));
    if (source.ids.length === 0 || target.ids.length === 0) return falls;
    const read = source.words.map((_, word) => word).filter((word) => piecesOf(source, word).size > 0);
    const sources = [source.ids, ...read.map((word) => withoutPieces(source, word))];
    const sums = [];
    for (let first = 0; first < sources.length; first += ERASED_TOGETHER) {
      const scored = await this.network.score(sources.slice(first, first + ERASED_TOGETHER), target.ids);
      sums.push(...scored.map(({ costs }) => wordCosts(costs, target)));
      await pause();
    }
    const [whole, ...others] = sums;
    read.forEach((word, place) => falls.forEach((row, t) => (row[word] = rounded(whole[t] - others[place][t]))));
    return falls;
  }
}

function candidate(source, target, { costs, weights, logProbability, score }) {
  return {
    text: target.text,
    log_probability: logProbability,
    score,
    truncated: Boolean(source.cut || target.cut),
    word_log_probabilities: wordCosts(costs, target).map(rounded),
    alignment: target.words.length > 0 ? wordAlignment(weights, source, target) : emptyAlignment(source, target),
  };
}

function wordCosts(costs, target) {
  return sumByWord(target.ids.map((_, piece) => [costs[piece]]), target, target.words.length, 1).map(([sum]) => sum);
}

// The beginning of a sentence: at most so many pieces and words.
function cut(sentence, most) {
  const { words, ids, wordOfPiece } = sentence;
  if (ids.length <= most && words.length <= most) return sentence;
  const within = wordOfPiece.findIndex((word) => word >= most);
  const pieces = Math.min(most, within === -1 ? ids.length : within);
  const last = pieces - 1;
  const behind = wordOfPiece[last] + (sentence.divided.get(last)?.length ?? 1); // the word behind the last piece
  const kept = pieces > 0 && pieces < ids.length ? Math.min(most, behind) : most;
  const divided = new Map();
  for (const [piece, shares] of sentence.divided) {
    const left = shares.slice(0, kept - wordOfPiece[piece]);
    const sum = left.reduce((total, share) => total + share, 0);
    if (piece < pieces && sum > 0) divided.set(piece, left.map((share) => share / sum));
  }
  const begun = { words: words.slice(0, kept), ids: ids.slice(0, pieces), wordOfPiece: wordOfPiece.slice(0, pieces) };
  return { ...sentence, ...begun, divided, cut: true };
}

function piecesOf({ wordOfPiece, divided }, word) {
  const covers = (piece) => wordOfPiece[piece] <= word && word < wordOfPiece[piece] + (divided.get(piece)?.length ?? 1);
  return new Set(wordOfPiece.map((_, piece) => piece).filter(covers));
}

function withoutPieces(source, word) {
  const gone = piecesOf(source, word);
  return source.ids.filter((_, piece) => !gone.has(piece));
}

// A text without some of its words.
function without(text, words, gone) {
  let at = 0;
  const kept = words.map((word, index) => {
    const begin = text.indexOf(word, at);
    const before = text.slice(at, begin);
    at = begin + word.length;
    return gone.has(index) ? before : before + word;
  });
  return singleSpaced(kept.join("") + text.slice(at));
}

// The translation of a text from those of its sentences: each is aligned within its own sentence.
function joinedCandidate(parts, found, { source, settings }) {
  const sources = parts.map((part, place) => {
    const read = found[place].alignment.source;
    return found[place].truncated ? [...read, ...source.words(part).slice(read.length)] : read;
  });
  const width = sources.reduce((sum, words) => sum + words.length, 0);
  const alignment = { source: sources.flat(), target: [], weights: [], end_of_sentence: [], links: [], linked_by: LINKED_BY };
  let column = 0;
  found.forEach((one, place) => {
    const row = alignment.target.length;
    const wide = (values) => Array.from({ length: width }, (_, s) => values[s - column] ?? 0);
    alignment.links.push(...one.alignment.links.map(([s, t]) => [s + column, t + row]));
    alignment.weights.push(...one.alignment.weights.map(wide));
    alignment.target.push(...one.alignment.target);
    alignment.end_of_sentence.push(...one.alignment.end_of_sentence);
    column += sources[place].length;
  });
  const sum = (name) => found.reduce((total, one) => total + one[name], 0);
  return {
    text: found.map(({ text }) => text).filter((text) => text !== "").join(settings.words.target ? "" : " "),
    log_probability: sum("log_probability"),
    score: sum("score"),
    truncated: found.some(({ truncated }) => truncated),
    word_log_probabilities: found.flatMap((one) => one.word_log_probabilities),
    alignment,
  };
}
