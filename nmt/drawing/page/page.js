// Draws the sentences in the page's data.
import { SentenceView } from "./sentence.js";
import { drawLegend, drawViews } from "./views.js";

const { sentences } = JSON.parse(document.getElementById("data").textContent);
const drawn = sentences.map((sentence, index) => new SentenceView(sentence, index));
document.querySelector("main").append(...drawn.map((sentence) => sentence.article));
drawLegend(sentences);
drawViews(sentences, drawn);

// Nobody points at a word on paper: a print shows every table instead.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("main details:not([open])")];
  for (const details of opened) details.open = true;
  for (const { tables } of drawn) tables.forEach((fill) => fill()); // the event `toggle` would come too late
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
