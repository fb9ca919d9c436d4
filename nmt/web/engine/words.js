// The words of a text, and the word that each piece belongs to.

// White space as Python's str.split() knows it.
export const WHITE_SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";

const GAPS = new RegExp(`${WHITE_SPACE}+`, "u");

export function spacedWords(text) {
  return text.split(GAPS).filter((word) => word !== "");
}

export function singleSpaced(text) {
  return spacedWords(text.toWellFormed?.() ?? text).join(" ");
}

// A function that cuts text of a language without spaces into words, as the browser knows them.
export function unspacedWords(language) {
  const segmenter = segmenterOf(language, "word");
  return (text) => spacedWords(text).flatMap((part) => [...segmenter.segment(part)].map(({ segment }) => segment));
}

// The browser's rules of a language. It refuses some tags that nmt takes, such as en-a, but no language alone.
export function segmenterOf(language, granularity) {
  return new Intl.Segmenter(language.split("-")[0] || "en", { granularity });
}

// The words of a text, the word of each piece, and the shares of pieces that cover several words of an unspaced text.
// `spans` of the pieces are places in the text, in characters. A piece without a span belongs to the next word.
export function wordsAt(text, words, spans) {
  const characters = [...text];
  const wordAt = wordsOfCharacters(text, words);
  const known = spans.filter((span) => span !== null);
  let following = known.reduce((most, [begin]) => Math.max(most, wordAt[begin]), 0);
  const wordOfPiece = new Array(spans.length);
  for (let piece = spans.length - 1; piece >= 0; piece -= 1) {
    if (spans[piece] !== null) following = wordAt[spans[piece][0]];
    wordOfPiece[piece] = following;
  }
  const isSpaced = words.length === spacedWords(text).length;
  return { words, wordOfPiece, divided: isSpaced ? new Map() : dividedPieces(spans, wordAt, characters) };
}

// The index of the word at each character; a space has that of the word before it.
function wordsOfCharacters(text, words) {
  const starts = new Set();
  let end = 0;
  for (const word of words) {
    const begin = text.indexOf(word, end);
    starts.add(begin);
    end = begin + word.length;
  }
  const found = [];
  let count = 0;
  let place = 0;
  for (const character of text) {
    if (starts.has(place)) count += 1;
    found.push(count - 1);
    place += character.length;
  }
  return found;
}

// The pieces over several words: the share of their characters in each of the words.
function dividedPieces(spans, wordAt, characters) {
  const divided = new Map();
  spans.forEach((span, piece) => {
    if (span === null) return;
    const counts = new Map();
    for (let at = span[0]; at < span[1]; at += 1) {
      if (!GAPS.test(characters[at])) counts.set(wordAt[at], (counts.get(wordAt[at]) ?? 0) + 1);
    }
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    if (counts.size > 1) divided.set(piece, [...counts.values()].map((count) => count / total));
  });
  return divided;
}
