// A heat map as an SVG drawing that needs no style sheet: target words down, source words across.
import { END, SMALLEST_SHOWN, number } from "./view/elements.js";

const CELL = 38;
const FONT = "15px system-ui, sans-serif";
const SLANT = -50; // degrees of the words across
const NAMES = ["paper", "ink", "quiet", "line", "attention", "rise", "fall", "link"];

// The cells of a translation's attention, the end of the sentence in the last column.
export function attentionCells({ weights, end_of_sentence }) {
  return weights.map((row, t) => [...row, end_of_sentence[t]].map((value) => ({ value, share: Math.min(1, value), kind: "attention" })));
}

// Whether falls have so many target words and source words: a text is explained in one reading, which ends where the
// model's longest source ends, even if it was translated sentence by sentence.
export function hasFalls(falls, targets, sources) {
  return falls.length >= targets && falls.every((row) => row.length >= sources);
}

// The error where they do not.
export function unknownFalls() {
  return new Error("the text is too long for one reading of the model: the effect of its last words is unknown");
}

// The cells of erasure: how far each target word's log-probability falls without each source word.
export function erasureCells(falls, { source, target }) {
  if (!hasFalls(falls, target.length, source.length)) throw unknownFalls();
  const most = falls.flat().reduce((found, value) => Math.max(found, Math.abs(value)), 0) || 1;
  return falls.map((row) => row.map((value) => ({ value, share: Math.abs(value) / most, kind: value < 0 ? "rise" : "fall" })));
}

// Draws cells; `direction` is that of the source, `links` are outlined.
export function heatMap({ source, target, links, cells, direction, title }) {
  const columns = cells[0]?.length > source.length ? [...source, END] : source;
  const left = 16 + widest(target);
  const top = 24 + widest(columns) * Math.sin((-SLANT * Math.PI) / 180);
  const x = (s) => left + CELL * (direction === "rtl" ? columns.length - 1 - s : s);
  const y = (t) => top + CELL * t;
  const colours = palette();
  const width = left + CELL * columns.length + 0.75 * widest(columns) + 16;
  const drawing = drawn("svg", { width, height: y(target.length) + 16, viewBox: `0 0 ${width} ${y(target.length) + 16}`, role: "img" });
  drawing.style.font = FONT;  // a style attribute would break the content security policy
  drawing.append(drawn("title", {}, title), drawn("rect", { width: "100%", height: "100%", fill: colours.paper }));
  columns.forEach((word, s) => drawing.append(columnName(word, x(s) + CELL / 2, top - 8, s < source.length ? colours.ink : colours.quiet)));
  target.forEach((word, t) => {
    drawing.append(drawn("text", { x: left - 8, y: y(t) + CELL / 2 + 5, "text-anchor": "end", fill: colours.ink }, word));
    cells[t].forEach((cell, s) => drawing.append(...square(cell, x(s), y(t), colours)));
  });
  for (const [s, t] of links) drawing.append(outline(x(s), y(t), colours));
  return drawing;
}

function columnName(word, x, y, fill) {
  return drawn("text", { transform: `translate(${x} ${y}) rotate(${SLANT})`, fill }, word);
}

function square({ value, share, kind }, x, y, colours) {
  const box = { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, rx: 3 };
  const parts = [
    drawn("rect", { ...box, fill: "none", stroke: colours.line, "stroke-width": 0.5 }),
    drawn("rect", { ...box, fill: colours[kind], "fill-opacity": share.toFixed(3) }),
  ];
  if (Math.abs(value) >= 10 * SMALLEST_SHOWN) {
    const place = { x: x + CELL / 2, y: y + CELL / 2 + 4, "text-anchor": "middle", "font-size": 12, fill: colours.ink };
    parts.push(drawn("text", place, number(value)));
  }
  return parts;
}

function outline(x, y, colours) {
  const box = { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, rx: 3 };
  return drawn("rect", { ...box, fill: "none", stroke: colours.link, "stroke-width": 2.5 });
}

function drawn(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

// The colours of the page in its light or dark scheme.
function palette() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function widest(words) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = FONT;
  return words.reduce((most, word) => Math.max(most, pen.measureText(word).width), 0);
}
