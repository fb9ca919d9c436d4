// Erasure on a click: the translation of the sentence without a word, and the loss of each word of the translation.
import { directionOf } from "./direction.js";
import { differing } from "./view/differences.js";
import { element, isolated, number } from "./view/elements.js";

// The panel of an erased word. `found` is the best candidate without it, `current` the translation with it, `falls` the
// nats that each of its words loses.
export function withoutPanel({ word, found, current, falls, languages, close }) {
  const target = found.alignment.target;
  const changed = differing(target, current.alignment.target);
  const words = target.map((text, place) => wordOf(text, "", changed.has(place) ? "different" : ""));
  const losses = current.alignment.target.map((text, place) => lossOf(text, falls[place], greatest(falls)));
  const button = element("button", { type: "button", class: "close", "aria-label": "put the word back" }, "\u00d7");
  button.addEventListener("click", close);
  return element(
    "div",
    { class: "panel without", role: "group", "aria-label": `without ${word}` },
    button,
    element("h3", {}, `Without ${isolated(word)}`),
    row(target.length > 0 ? words : [element("span", { class: "quiet" }, "no words")], target, languages[1]),
    element("h3", {}, "What the translation above loses: log-probability of each word, in nats"),
    row(losses, current.alignment.target, languages[1]),
  );
}

function row(children, words, language) {
  return element("p", { class: "words", dir: directionOf(words), lang: language }, ...children);
}

function wordOf(text, value, kind) {
  const parts = [element("span", { class: "text" }, text), element("span", { class: "value" }, value)];
  return element("span", { class: `word ${kind}` }, ...parts);
}

function lossOf(text, fall, most) {
  const word = wordOf(text, number(fall), `lit ${fall < 0 ? "rise" : "fall"}`);
  word.style.setProperty("--share", (Math.abs(fall) / most).toFixed(3));
  return word;
}

// At least a nat, so that no shade exaggerates a small loss.
function greatest(falls) {
  return falls.reduce((most, fall) => Math.max(most, Math.abs(fall)), 1);
}
