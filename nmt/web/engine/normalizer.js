// SentencePiece's normalisation: rules that replace characters, single spaces, and the visible space.
//
// The rules are a double-array trie over UTF-8, in the layout of the library Darts-clone, and the strings that replace its
// keys. A unit of the trie has 32 bits: the label, a mark of a leaf, and the distance to its children.

export const SPACE = "\u2581";

const MOST_FOUND = 32; // SentencePiece looks at so many keys at one place

class Rules {
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const length = bytes.length > 4 ? view.getUint32(0, true) : 0;
    this.units = Uint32Array.from({ length: length / 4 }, (_, at) => view.getUint32(4 + 4 * at, true));
    this.strings = bytes.subarray(4 + length);
  }

  // The longest key at a place of UTF-8 text: [its bytes, the text in its place]; null without a key.
  longest(bytes, place) {
    const { units } = this;
    if (units.length === 0) return null;
    let node = offsetOf(units[0]);
    let found = null;
    let count = 0;
    for (let at = place; at < bytes.length && count < MOST_FOUND; at += 1) {
      node ^= bytes[at];
      const unit = units[node];
      if (unit === undefined || (unit & 0x800000ff) !== bytes[at]) break;
      node ^= offsetOf(unit);
      if ((unit >>> 8) & 1) {
        found = [at + 1 - place, units[node] & 0x7fffffff];
        count += 1;
      }
    }
    return found && [found[0], this.#string(found[1])];
  }

  #string(begin) {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.strings.subarray(begin, this.strings.indexOf(0, begin)));
  }
}

function offsetOf(unit) {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}

export class Normalizer {
  // `settings` are those of the model file; `symbols`, a trie, are the user's symbols, which no rule changes.
  constructor(settings, symbols) {
    this.settings = settings;
    this.symbols = symbols;
    this.rules = new Rules(settings.rules);
  }

  // The characters of the normalised text, and the place in the text, in characters, that each comes from. The last
  // place is behind them all.
  normalize(text) {
    const { addsSpace, removesSpaces, showsSpaces } = this.settings;
    const parts = this.#parts([...text]);
    let first = 0;
    while (removesSpaces && first < parts.length && parts[first].text === " ") first += 1;
    const written = [];
    const origins = [];
    const write = (characters, place) => {
      for (const character of characters) {
        written.push(character === " " && showsSpaces ? SPACE : character);
        origins.push(place);
      }
    };
    if (first < parts.length && addsSpace) write(" ", parts[first].place);
    let behindSpace = removesSpaces;
    let end = parts[first]?.place ?? 0;
    for (const { text: replaced, place, length } of parts.slice(first)) {
      const shown = behindSpace ? replaced.replace(/^ +/, "") : replaced;
      write(shown, place);
      if (shown !== "") behindSpace = shown.endsWith(" ");
      if (!removesSpaces) behindSpace = false;
      end = place + length;
    }
    while (removesSpaces && written.length > 0 && written.at(-1) === (showsSpaces ? SPACE : " ")) {
      written.pop();
      end = origins.pop();
    }
    return { characters: written, origins: [...origins, end] };
  }

  // The text in parts that the rules treat together: their place and length in the text, and their normalised text.
  #parts(characters) {
    const encoder = new TextEncoder();
    const lengths = characters.map((character) => encoder.encode(character).length);
    const bytes = encoder.encode(characters.join(""));
    const parts = [];
    for (let place = 0, at = 0; place < characters.length; ) {
      const symbol = this.symbols.longest(characters, place);
      const rule = symbol > 0 ? null : this.rules.longest(bytes, at);
      const length = symbol || (rule ? charactersIn(rule[0], lengths, place) : 1);
      parts.push({ place, length, text: rule ? rule[1] : characters.slice(place, place + length).join("") });
      for (const end = place + length; place < end; place += 1) at += lengths[place];
    }
    return parts;
  }
}

function charactersIn(bytes, lengths, place) {
  let count = 0;
  for (let left = bytes; left > 0; count += 1) left -= lengths[place + count];
  return count;
}
