// Beam search for one sentence, with the rules of nmt/search: a beam of one hypothesis is greedy search.
//
// A decoder makes the steps: `step(pieces, rows)` reads the last pieces of some hypotheses and the rows of the step before
// that they continue, and gives for each of them `logits` and `weights`, the attention of the step.

export const PAD = 0;
export const BOS = 2;
export const EOS = 3;

const LEAST_COVERAGE = 1e-6;

// `limit` is the greatest number of pieces, end of sentence included, and `least` the least number without it.
export const PLAIN = {
  slots: 1,
  nbest: 1,
  limit: Infinity,
  least: 0,
  suppressed: [],
  prefix: [],
  noRepeatNgram: 0,
  alpha: 0,
  normalization: "wu",
  coverage: 0,
  diversity: 0,
  prune: 0,
};

// The best hypotheses, finished ones first: { ids, logProbability, score, weights, finished, costs }.
export async function search(decoder, given) {
  const settings = { ...PLAIN, ...given };
  let beam = [{ tokens: [], costs: [], records: [], logProbability: 0, finished: false, row: 0 }];
  for (let time = 0; canImprove(beam, time, settings); time += 1) {
    const live = beam.filter(({ finished }) => !finished);
    const steps = await decoder.step(live.map(({ tokens }) => tokens.at(-1) ?? BOS), live.map(({ row }) => row));
    beam = extended(beam, live, steps, time, settings);
  }
  const scored = beam.map((hypothesis) => ({ ...hypothesis, score: scoreOf(hypothesis, settings) }));
  scored.sort((one, other) => Number(other.finished) - Number(one.finished) || other.score - one.score);
  return scored.slice(0, settings.nbest).map(resultOf);
}

function resultOf({ tokens, costs, records, logProbability, finished, score }) {
  const ids = finished ? tokens.slice(0, -1) : tokens;
  return { ids, logProbability, score, weights: records, finished, costs };
}

// The beam after a step: live hypotheses first, then the ended ones.
function extended(beam, live, steps, time, settings) {
  const ended = beam.filter(({ finished }) => finished);
  const candidates = live.flatMap((parent, row) => continuations(parent, row, steps[row], time, settings));
  candidates.sort((one, other) => other.total - one.total); // a stable sort: the first of equals stays first
  const selected = candidates.slice(0, settings.slots);
  const floor = settings.prune > 0 ? (selected[settings.nbest - 1]?.total ?? -Infinity) - settings.prune : -Infinity;
  const grown = selected
    .slice(0, settings.slots - ended.length)
    .filter(({ total }) => total >= floor)
    .map(({ parent, row, piece, value }) => ({
      tokens: [...parent.tokens, piece],
      costs: [...parent.costs, value],
      records: [...parent.records, steps[row].weights],
      logProbability: Math.fround(parent.logProbability + value),
      finished: piece === EOS,
      row,
    }));
  return [...grown.filter(({ finished }) => !finished), ...grown.filter(({ finished }) => finished), ...ended];
}

// The most probable pieces behind a hypothesis. The k-th one pays k times the diversity in the selection.
function continuations(parent, row, { logits }, time, settings) {
  const forbidden = forbiddenPieces(parent.tokens, time, settings);
  const required = settings.prefix[time];
  const normalizer = logSumExp(logits);
  const pieces = required === undefined ? mostProbable(logits, settings.slots, forbidden) : [required];
  return pieces.map((piece, rank) => {
    const value = Math.fround(logits[piece] - normalizer);
    return { parent, row, piece, value, total: Math.fround(parent.logProbability + value - settings.diversity * rank) };
  });
}

function forbiddenPieces(tokens, time, { suppressed, least, noRepeatNgram }) {
  const forbidden = new Set([PAD, BOS, ...suppressed]);
  if (time < least) forbidden.add(EOS);
  for (let begin = 0; noRepeatNgram && begin + noRepeatNgram <= tokens.length; begin += 1) {
    const before = noRepeatNgram - 1;
    const last = tokens.slice(tokens.length - before);
    if (last.every((piece, at) => tokens[begin + at] === piece)) forbidden.add(tokens[begin + before]);
  }
  return forbidden;
}

// The pieces with the greatest logits, the first of equals first.
export function mostProbable(logits, count, forbidden) {
  const best = [];
  for (let piece = 0; piece < logits.length; piece += 1) {
    const value = logits[piece];
    if ((best.length === count && !(value > logits[best[count - 1]])) || forbidden.has(piece)) continue;
    let at = best.length;
    while (at > 0 && value > logits[best[at - 1]]) at -= 1;
    best.splice(at, 0, piece);
    if (best.length > count) best.pop();
  }
  return best;
}

export function logSumExp(values) {
  let greatest = -Infinity;
  for (const value of values) if (value > greatest) greatest = value;
  let sum = 0;
  for (const value of values) sum += Math.exp(value - greatest);
  return greatest + Math.log(sum);
}

// Whether a live hypothesis may still become one of the best: a log-probability only falls.
function canImprove(beam, time, settings) {
  const live = time < settings.limit ? beam.filter(({ finished }) => !finished) : [];
  if (live.length === 0 || settings.nbest === settings.slots) return live.length > 0;
  const ended = beam.filter(({ finished }) => finished).map((hypothesis) => scoreOf(hypothesis, settings));
  ended.sort((one, other) => other - one);
  const least = ended[settings.nbest - 1] ?? -Infinity;
  return live.some(({ logProbability }) => logProbability / lengthPenalty(settings.limit, settings) > least);
}

// Log-probability with the penalties of Wu et al. (2016, eq. 14).
function scoreOf({ logProbability, tokens, records }, settings) {
  const score = logProbability / lengthPenalty(Math.max(1, tokens.length), settings);
  return settings.coverage ? score + settings.coverage * coveragePenalty(records) : score;
}

function lengthPenalty(length, { alpha, normalization }) {
  return (normalization === "wu" ? (5 + length) / 6 : length) ** alpha;
}

// The last source position is the end of sentence, which does not count.
function coveragePenalty(records) {
  let penalty = 0;
  for (let position = 0; position < (records[0]?.length ?? 0) - 1; position += 1) {
    const received = records.reduce((sum, weights) => sum + weights[position], 0);
    penalty += Math.log(Math.min(Math.max(received, LEAST_COVERAGE), 1));
  }
  return penalty;
}
