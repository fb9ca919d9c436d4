// The server's answers as the data that the view of a sentence draws.
import { directionOf } from "./direction.js";
import { languagesOf, tagOf } from "./settings.js";
import { number } from "./view/elements.js";

const BY_ALIGNER = "by an aligner, not by attention";
const CUT = "The text is longer than the model reads: its end has no translation.";

// The sentence of some candidates for a text; `headings` may name them.
export function sentenceOf(model, candidates, headings = []) {
  const [first] = candidates;
  return {
    label: [model.name, languagesOf(model), ruleOf(first) && `links ${ruleOf(first)}`].filter(Boolean).join(", "),
    note: first.truncated ? CUT : "",
    languages: [tagOf(model.source), tagOf(model.target)],
    direction: directionOf(first.alignment.source),
    translations: candidates.map((candidate, place) => translationOf(candidate, headings[place] ?? "")),
    gold: null,
    erasure: null,
  };
}

function translationOf(candidate, heading) {
  return {
    text: candidate.text,
    log_probability: candidate.log_probability,
    alignment: candidate.alignment,
    heading,
    direction: directionOf(candidate.alignment.target),
    rule: ruleOf(candidate),
    shares: null,
    probabilities: candidate.word_log_probabilities.map(Math.exp),
  };
}

// What made the links, unless attention did.
function ruleOf({ alignment }) {
  return alignment.linked_by === "aligner" ? BY_ALIGNER : "";
}

export function headingsOf(candidates) {
  return candidates.map(({ log_probability }, place) => {
    const name = candidates.length > 1 ? `translation ${place + 1}` : "translation";
    return `${name}, log-probability ${number(log_probability)}`;
  });
}
