// Unknown pieces of a translation replaced by copies of source words: see nmt/translation/unknown_words.py.

export const UNKNOWN = 1;

const SURFACE = "\u2047"; // the text of an unknown piece
const WORD_CHARACTERS = "[\\p{L}\\p{M}\\p{N}_]*";

// The candidate with a source word in place of each word that has an unknown piece: the one that it attends to most.
export function withCopies(candidate, target) {
  const { alignment } = candidate;
  const unknown = new Set(target.ids.flatMap((id, piece) => (id === UNKNOWN ? wordsOf(piece, target) : [])));
  const words = alignment.target.map((word, t) => {
    const row = alignment.weights[t];
    if (!unknown.has(t) || row.every((value) => value === 0)) return word;
    return withCopy(word, bare(alignment.source[row.indexOf(Math.max(...row))]));
  });
  return { ...candidate, text: replaced(candidate.text, alignment.target, words), alignment: { ...alignment, target: words } };
}

// The words that a piece covers.
function wordsOf(piece, { wordOfPiece, divided }) {
  const first = wordOfPiece[piece];
  return divided.has(piece) ? divided.get(piece).map((_, place) => first + place) : [first];
}

// The copy is a whole word, so it also replaces the letters that touch the unknown piece.
function withCopy(word, copy) {
  const parts = word.split(SURFACE);
  const before = parts[0].replace(new RegExp(`${WORD_CHARACTERS}$`, "u"), "");
  return before + copy + (parts.at(-1) ?? "").replace(new RegExp(`^${WORD_CHARACTERS}`, "u"), "");
}

// The word without the punctuation around it.
function bare(word) {
  return word.match(/[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su)?.[0] ?? word;
}

function replaced(text, old, words) {
  let end = 0;
  const parts = old.map((word, place) => {
    const begin = text.indexOf(word, end);
    const between = text.slice(end, begin);
    end = begin + word.length;
    return between + words[place];
  });
  return parts.join("") + text.slice(end);
}
