// Draws the sentences in the page's data.
import { SentenceView } from "./sentence.js";
import { drawLegend, drawViews } from "./views.js";

const { sentences } = JSON.parse(document.getElementById("data").textContent);
const drawn = sentences.map((sentence, index) => new SentenceView(sentence, index));
document.querySelector("main").append(...drawn.map((sentence) => sentence.article));
drawLegend(sentences);
drawViews(sentences, drawn);
