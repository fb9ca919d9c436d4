// A SentencePiece model: text to ids and back, as the library of Google does it, and the word of each piece.
import { cutCharacters, cutPairs, cutUnigram, cutWords } from "./cutting.js";
import { BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, readModel } from "./model_file.js";
import { Normalizer, SPACE } from "./normalizer.js";
import { Trie } from "./trie.js";
import { WHITE_SPACE, singleSpaced, wordsAt } from "./words.js";

const CUTS = { unigram: cutUnigram, bpe: cutPairs, word: cutWords, char: cutCharacters };

export class Tokenizer {
  // `bytes` of a model file; `words`, a function, cuts text into the words of its language.
  constructor(bytes, words) {
    const { pieces, trainer, normalizer } = readModel(bytes);
    Object.assign(this, { pieces, trainer, words, unknown: pieces.findIndex(({ type }) => type === UNKNOWN) });
    const scores = pieces.filter(({ type }) => type === NORMAL).map(({ score }) => score);
    this.lowest = scores.reduce((least, score) => Math.min(least, score), Infinity);
    this.highest = scores.reduce((most, score) => Math.max(most, score), -Infinity);
    this.#index();
    this.normalizer = new Normalizer(normalizer, this.symbols);
    this.normalization = normalizer;
    this.cut = CUTS[trainer.kind];
  }

  #index() {
    this.reserved = new Map();
    this.mergeable = new Map();
    this.trie = new Trie();
    this.symbols = new Trie();
    this.pieces.forEach(({ text, type }, id) => {
      const isText = [NORMAL, USER_DEFINED, UNUSED].includes(type);
      (isText ? this.mergeable : this.reserved).set(text, id);
      if (isText) this.trie.add(text, id);
      if (type === USER_DEFINED) this.symbols.add(text, id);
    });
  }

  idOf(text) {
    return this.reserved.get(text) ?? this.mergeable.get(text) ?? this.unknown;
  }

  encode(text) {
    return this.#encoded(singleSpaced(text)).ids;
  }

  // The ids, and the span of the text, in characters, that each comes from; null for a piece without text.
  #encoded(text) {
    const { characters, origins } = this.normalizer.normalize(text);
    const ids = [];
    const spans = [];
    let start = 0;
    let behindUnknown = false;
    for (const [id, surface] of this.cut(characters, this)) {
      const isUnknown = this.pieces[id].type === UNKNOWN;
      const lead = surface.findIndex((character) => character !== SPACE);
      const end = start + surface.length;
      const span = lead === -1 ? null : [origins[start + lead], origins[end]];
      if (isUnknown && this.trainer.byteFallback) {
        for (const byte of new TextEncoder().encode(surface.join(""))) {
          ids.push(this.reserved.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
          spans.push(span);
        }
      } else if (isUnknown && behindUnknown) {
        spans.push(joined(spans.pop(), span)); // neighbouring unknown pieces are one
      } else {
        ids.push(id);
        spans.push(span);
      }
      behindUnknown = isUnknown;
      start = end;
    }
    return { ids, spans };
  }

  // A sentence with its words, its ids, and the word of each id. Words whose characters all vanish have no id.
  segment(sentence) {
    const text = singleSpaced(sentence);
    const { ids, spans } = this.#encoded(text);
    return { text: sentence, ids, ...wordsAt(text, this.words(text), spans) };
  }

  decode(ids) {
    return singleSpaced(this.#decoded(ids).text);
  }

  // The text of some ids with its words, and the word of each id.
  join(ids) {
    const { text, spans } = this.#decoded(ids);
    return { text: singleSpaced(text), ids, ...wordsAt(text, this.words(text), spans) };
  }

  // The text, and the span of each id in it, without the white space before it; null for an id without text.
  #decoded(ids) {
    let text = "";
    let seen = false;
    const ends = [];
    const begins = [];
    const bytes = [];
    const flush = () => {
      const found = decodedBytes(bytes);
      found.forEach((part, place) => {
        begins[ends.length - bytes.length + place] = text.length;
        text += part;
        ends[ends.length - bytes.length + place] = text.length;
      });
      bytes.length = 0;
    };
    for (const id of ids) {
      const { text: piece, type } = this.pieces[id];
      if (type === BYTE) {
        bytes.push(Number.parseInt(piece.slice(3, 5), 16));
        ends.push(0);
        begins.push(0);
        continue;
      }
      flush();
      begins.push(text.length);
      const surface = this.#surface(piece, type, !seen && text === "");
      seen ||= surface.hadSpace;
      text += surface.text;
      ends.push(text.length);
    }
    flush();
    const spans = ends.map((end, at) => spanOf(text, begins[at], end));
    return { text, spans };
  }

  #surface(piece, type, first) {
    if (type === CONTROL) return { text: "", hadSpace: false };
    if (type === UNKNOWN) return { text: this.trainer.unknownSurface, hadSpace: false };
    const { addsSpace, removesSpaces } = this.normalization;
    const opens = first && (addsSpace || removesSpaces) && piece.startsWith(SPACE);
    const text = (opens ? piece.slice(1) : piece).replaceAll(SPACE, " ");
    return { text, hadSpace: opens && !removesSpaces };
  }
}

function joined(one, other) {
  return one && other ? [one[0], other[1]] : (one ?? other);
}

// The span between two places of a text, in characters, without the white space at its beginning.
function spanOf(text, begin, end) {
  const lead = text.slice(begin, end).match(new RegExp(`^${WHITE_SPACE}*`, "u"))[0].length;
  return begin + lead < end ? [begin + lead, end].map((place) => [...text.slice(0, place)].length) : null;
}

// The text of bytes, a part for each byte: a character stands at its last byte, and an invalid byte is U+FFFD.
function decodedBytes(bytes) {
  const parts = bytes.map(() => "");
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((size) => at + size <= bytes.length && isCharacter(bytes.slice(at, at + size))) ?? 1;
    parts[at + length - 1] = new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes.slice(at, at + length)));
    at += length;
  }
  return parts;
}

function isCharacter(bytes) {
  try {
    return [...new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes))].length === 1;
  } catch {
    return false;
  }
}
