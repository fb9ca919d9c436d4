// The four kinds of SentencePiece models: how each one cuts normalised characters into pieces.
//
// A cut is a list of [id, characters]. `vocabulary` has the ids of texts, the pieces and the user's symbols.
import { UNUSED, USER_DEFINED } from "./model_file.js";
import { SPACE } from "./normalizer.js";

const UNKNOWN_PENALTY = 10;

// The most probable cut (Kudo 2018), by the rounding of SentencePiece: sums are kept in 32 bits.
export function cutUnigram(characters, { trie, pieces, lowest, highest, unknown }) {
  const unknownScore = Math.fround(lowest - UNKNOWN_PENALTY);
  const best = Array.from({ length: characters.length + 1 }, () => ({ id: unknown, score: 0, start: -1 }));
  const offer = (end, id, score, start) => {
    if (best[end].start === -1 || score > best[end].score) best[end] = { id, score: Math.fround(score), start };
  };
  for (let start = 0; start < characters.length; start += 1) {
    const before = best[start].score;
    let single = false;
    trie.search(characters, start, (id, length) => {
      if (pieces[id].type === UNUSED) return;
      const bytes = () => utf8Length(characters.slice(start, start + length));
      const score = pieces[id].type === USER_DEFINED ? Math.fround(bytes() * highest) - 0.1 : pieces[id].score;
      offer(start + length, id, score + before, start);
      single ||= length === 1;
    });
    if (!single) offer(start + 1, unknown, unknownScore + before, start);
  }
  const cut = [];
  for (let end = characters.length; end > 0; end = best[end].start) {
    cut.push([best[end].id, characters.slice(best[end].start, end)]);
  }
  return cut.reverse();
}

// Merges of neighbours, the best one first, and from left to right among equals (Sennrich et al. 2016).
export function cutPairs(characters, vocabulary) {
  const symbols = singles(characters, vocabulary).map(({ text, isSymbol }, at, all) => ({
    characters: text,
    frozen: isSymbol,
    previous: at - 1,
    next: at + 1 < all.length ? at + 1 : -1,
  }));
  const queue = new Queue();
  const offer = (left, right) => {
    if (left === -1 || right === -1 || symbols[left].frozen || symbols[right].frozen) return;
    const text = symbols[left].characters.concat(symbols[right].characters).join("");
    const id = vocabulary.mergeable.get(text);
    if (id === undefined) return;
    queue.push({ left, right, score: vocabulary.pieces[id].score, length: text.length });
    if (vocabulary.pieces[id].type === UNUSED) merged.set(text, [symbols[left].characters, symbols[right].characters]);
  };
  const merged = new Map();
  for (let at = 1; at < symbols.length; at += 1) offer(at - 1, at);
  for (let top = queue.pop(); top !== undefined; top = queue.pop()) {
    const [left, right] = [symbols[top.left], symbols[top.right]];
    const length = [...left.characters, ...right.characters].join("").length;
    if (left.characters.length === 0 || right.characters.length === 0 || length !== top.length) continue; // merged before
    left.characters = left.characters.concat(right.characters);
    right.characters = [];
    left.next = right.next;
    if (right.next !== -1) symbols[right.next].previous = top.left;
    offer(left.previous, top.left);
    offer(top.left, left.next);
  }
  const remaining = symbols.filter(({ characters: left }) => left.length > 0);
  return remaining.flatMap((symbol) => usable(symbol.characters, merged, vocabulary));
}

// A piece that is only a step of merges is cut into the pieces that it was made from.
function usable(characters, merged, vocabulary) {
  const text = characters.join("");
  const id = vocabulary.idOf(text);
  if (vocabulary.pieces[id].type !== UNUSED || !merged.has(text)) return [[id, characters]];
  return merged.get(text).flatMap((part) => usable(part, merged, vocabulary));
}

export function cutCharacters(characters, vocabulary) {
  return singles(characters, vocabulary).map(({ text }) => [vocabulary.idOf(text.join("")), text]);
}

export function cutWords(characters, vocabulary) {
  const words = [];
  for (const character of characters) {
    if (words.length === 0 || character === SPACE) words.push([]);
    words.at(-1).push(character);
  }
  return words.map((word) => [vocabulary.idOf(word.join("")), word]);
}

// Characters, or whole symbols of the user.
function singles(characters, { symbols }) {
  const found = [];
  for (let at = 0; at < characters.length; ) {
    const symbol = symbols.longest(characters, at);
    found.push({ text: characters.slice(at, at + (symbol || 1)), isSymbol: symbol > 0 });
    at += symbol || 1;
  }
  return found;
}

function utf8Length(characters) {
  return new TextEncoder().encode(characters.join("")).length;
}

// A heap: the highest score first, the leftmost of equals.
class Queue {
  #items = [];

  push(item) {
    const items = this.#items;
    let at = items.push(item) - 1;
    for (let parent; at > 0 && comesFirst(item, items[(parent = (at - 1) >> 1)]); at = parent) items[at] = items[parent];
    items[at] = item;
  }

  pop() {
    const items = this.#items;
    const [top] = items;
    const last = items.pop();
    if (items.length === 0) return top;
    let at = 0;
    for (let child = 1; child < items.length; child = 2 * at + 1) {
      if (child + 1 < items.length && comesFirst(items[child + 1], items[child])) child += 1;
      if (!comesFirst(items[child], last)) break;
      items[at] = items[child];
      at = child;
    }
    items[at] = last;
    return top;
  }
}

function comesFirst(one, other) {
  return one.score > other.score || (one.score === other.score && one.left < other.left);
}
