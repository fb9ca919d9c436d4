// The two views, attention and erasure: which one is showing, its legend, and the choice between them.
import { element } from "./elements.js";

export const showing = { view: "attention" };

const WHY_TWO =
  "Attention shows where the model looked, which is not always the reason for its choice of a word. Erasure tests the " +
  "reason: how far the log-probability of a target word falls when a source word is removed.";

export function drawLegend(sentences) {
  const sample = (kind, text) => element("span", {}, element("span", { class: `sample ${kind}` }, "word"), ` ${text}`);
  const legend = document.getElementById("legend");
  if (showing.view === "attention") {
    legend.replaceChildren(
      element("span", {}, "attention 0", element("span", { class: "scale" }), "1"),
      sample("link", ruleOfLinks(sentences)),
    );
  } else {
    const scale = element("span", { class: "scale erasure" });
    const meaning = "log-probability of the target word (nats) when the source word is erased: rises";
    legend.replaceChildren(element("span", {}, meaning, scale, "falls"));
  }
  if (sentences.some(({ translations }) => translations.length > 1)) {
    legend.append(sample("different", "differs from translation 1"));
  }
  if (sentences.some((sentence) => sentence.gold)) {
    legend.append(sample("sure", "gold link, sure"), sample("possible", "gold link, possible"));
  }
}

// The rule that made the links of all sentences, if there is one.
function ruleOfLinks(sentences) {
  const rules = new Set(sentences.flatMap((sentence) => sentence.translations.map(({ rule }) => rule)));
  const [rule] = rules;
  return rules.size === 1 && rule ? `link: ${rule}` : "link";
}

export function drawViews(sentences, drawn) {
  if (!sentences.some((sentence) => sentence.erasure)) return;
  const choice = (name) => {
    const input = element("input", { type: "radio", name: "view", value: name });
    input.checked = name === showing.view;
    input.addEventListener("change", () => {
      showing.view = name;
      drawLegend(sentences);
      drawn.forEach((sentence) => sentence.changeView());
    });
    return element("label", {}, input, ` ${name}`);
  };
  const choices = element("fieldset", {}, element("legend", {}, "view"), choice("attention"), choice("erasure"));
  choices.append(element("p", {}, WHY_TWO));
  document.getElementById("views").append(choices);
}
