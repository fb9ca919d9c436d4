// Attention between pieces as attention and links between words: see nmt/alignment for the rules and their sources.

const SHARE_FLOOR = 0.1; // attention added to that of each source word, before shares of it are computed
const LEAST_ATTENTION = 0.05; // share of a target word's attention that words get, if it is linked

export const LINKED_BY = "attention";

// Attention, rounded to four decimals, and links of a pair; `weights` has a row for each target piece.
export function wordAlignment(weights, source, target) {
  const rows = target.ids.map((_, piece) => weights[piece]);
  const sums = sumByWord(rows, target, target.words.length, source.ids.length + 1);
  const counts = sumByWord(rows.map(() => [1]), target, target.words.length, 1);
  const means = sums.map((sum, word) => sum.map((value) => value / (counts[word][0] || 1)));
  const columns = source.ids.map((_, piece) => means.map((mean) => mean[piece]));
  const byWord = sumByWord(columns, source, source.words.length, means.length);
  const between = means.map((_, t) => byWord.map((column) => Math.fround(column[t])));
  const elsewhere = means.map((mean) => Math.fround(mean.at(-1)));
  return {
    source: source.words,
    target: target.words,
    weights: between.map((row) => row.map(rounded)),
    end_of_sentence: elsewhere.map(rounded),
    links: hardLinks(between, elsewhere),
    linked_by: LINKED_BY,
  };
}

export function emptyAlignment(source, target) {
  const weights = target.words.map(() => source.words.map(() => 0));
  const end_of_sentence = target.words.map(() => 0);
  return { source: source.words, target: target.words, weights, end_of_sentence, links: [], linked_by: LINKED_BY };
}

// Rows of pieces summed for each word; a piece that covers several words counts by its shares.
export function sumByWord(rows, { wordOfPiece, divided }, count, width) {
  const sums = Array.from({ length: count }, () => new Array(width).fill(0));
  rows.forEach((row, piece) => {
    (divided.get(piece) ?? [1]).forEach((share, further) => {
      const sum = sums[wordOfPiece[piece] + further];
      for (let column = 0; column < width; column += 1) sum[column] += share * row[column];
    });
  });
  return sums;
}

// Each target word is linked to the source word whose attention it claims most of.
function hardLinks(weights, elsewhere) {
  const received = weights[0]?.map((_, s) => weights.reduce((sum, row) => sum + row[s], 0)) ?? [];
  const links = [];
  weights.forEach((row, t) => {
    const total = row.reduce((sum, value) => sum + value, 0);
    if (total === 0 || total < LEAST_ATTENTION * (total + elsewhere[t])) return;
    const claims = row.map((value, s) => value / (SHARE_FLOOR + received[s]));
    links.push([claims.indexOf(Math.max(...claims)), t]);
  });
  return links.sort(([s, t], [other, u]) => s - other || t - u);
}

export function rounded(value) {
  return Math.round(value * 1e4) / 1e4;
}
