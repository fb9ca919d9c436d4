// A source sentence with its translations: pointing at a word lights up the words on the other side.
import { differing } from "./differences.js";
import { END, SMALLEST_SHOWN, element, isolated, number, percent } from "./elements.js";
import { moveByKey, stopAt } from "./keys.js";
import { listed, setStatus } from "./status.js";
import { tableOf } from "./table.js";
import { showing } from "./views.js";

const UNLIKELY = 0.1; // probability below which a word stands out
const MARKS = ["lit", "attention", "rise", "fall", "link", "sure", "possible"];

export class SentenceView {
  // `press`, if given, is called with the position of a word that is clicked while it is lit.
  constructor(data, index, press = null) {
    this.translations = data.translations;
    this.source = data.translations[0].alignment.source;
    this.languages = data.languages;
    this.direction = data.direction;
    this.erasure = data.erasure;
    // Math.max of all cells at once would fail for a long pair: a call takes a limited number of arguments.
    this.most = (data.erasure ?? []).flat().reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
    this.sure = pairs(data.gold?.sure);
    this.possible = pairs(data.gold?.possible);
    this.links = data.translations.map(({ alignment, shares }) =>
      new Map(alignment.links.map(([s, t], number) => [`${s}-${t}`, shares?.[number] ?? null])));
    this.hovered = this.focused = this.shown = null;
    this.tables = [];
    this.press = press;
    this.article = this.draw(data, index);
  }

  // The attention of target word t to source word s, or the effect of erasing s on t; null where not measured.
  value(which, s, t) {
    if (showing.view === "erasure") return which === 0 ? (this.erasure?.[t][s] ?? null) : null;
    const alignment = this.translations[which].alignment;
    return s < this.source.length ? alignment.weights[t][s] : alignment.end_of_sentence[t];
  }

  draw(data, index) {
    const id = `sentence-${index + 1}`;
    const article = element("article", { "aria-labelledby": id }, element("h2", { id, dir: "auto" }, data.label));
    this.unmeasured = element("p", { class: "quiet", hidden: "" }, "Erasure was not measured for this sentence.");
    if (data.note) article.append(element("p", { class: "note", dir: "auto" }, data.note));
    article.append(this.unmeasured, element("p", { class: "label" }, "source"));
    const source = this.row([...this.source, END], "source", "source", this.direction, this.languages[0]);
    source.words.at(-1).classList.add("end");
    source.words.at(-1).setAttribute("dir", "ltr");
    this.rows = [source];
    this.columns = this.translations.map((translation, which) => this.column(translation, which));
    article.append(source.row, element("div", { class: "translations" }, ...this.columns));
    this.listen(article);
    return article;
  }

  column(translation, which) {
    const count = this.translations.length;
    const name = count > 1 ? `translation ${which + 1} of ${count}` : "translation";
    const logProbability = translation.log_probability;
    const usual = logProbability === null ? name : `${name}, log-probability ${number(logProbability)}`;
    const heading = translation.heading || usual;
    const section = element("section", { class: "translation" }, element("h3", {}, heading));
    const target = translation.alignment.target;
    const { row, words } = this.row(target, which, name, translation.direction, this.languages[1]);
    this.rows.push({ row, words });
    this.markDifferences(which, words);
    if (translation.shows_probabilities) showProbabilities(words, translation.probabilities);
    section.append(row);
    if (target.length === 0) section.append(element("p", { class: "quiet" }, "no words"));
    else if (this.source.length > 0) section.append(tableOf(this, which, name));
    return section;
  }

  // A row is one stop of the Tab key; the arrow keys move between its words.
  row(texts, side, name, direction, language) {
    const words = texts.map((text, index) => {
      const shown = [element("span", { class: "text" }, text), element("span", { class: "value" })];
      const word = element("button", { type: "button", class: "word", tabindex: index === 0 ? 0 : -1 }, ...shown);
      word.position = { side, index };
      return word;
    });
    const row = element("p", { class: "words", dir: direction, lang: language, role: "group", "aria-label": name }, ...words);
    return { row, words };
  }

  // The words of a further translation that the first one lacks.
  markDifferences(which, words) {
    if (which === 0) return;
    const [first, own] = [this.translations[0], this.translations[which]].map(({ alignment }) => alignment.target);
    for (const place of differing(own, first)) words[place].classList.add("different");
  }

  listen(article) {
    const point = (place, word) => {
      this[place] = word;
      this.show();
    };
    article.addEventListener("mouseover", (event) => point("hovered", event.target.closest(".word")));
    article.addEventListener("mouseleave", () => point("hovered", null));
    article.addEventListener("focusin", (event) => point("focused", event.target.closest(".word")));
    article.addEventListener("focusout", () => point("focused", null));
    article.addEventListener("pointerdown", () => (this.litBefore = this.shown));
    article.addEventListener("click", (event) => this.click(event));
    article.addEventListener("keydown", (event) => moveByKey(this, event));
  }

  // A mouse lights a word before it clicks; a finger lights it by the first touch, and presses it by the second.
  click(event) {
    const word = event.target.closest(".word");
    if (!word) return;
    const byKey = event.detail === 0;
    const lit = byKey || this.litBefore === word;
    word.focus(); // not every browser focuses a button on click
    if (lit) this.press?.(word.position);
  }

  rowOf(side) {
    return side === "source" ? this.rows[0] : this.rows[side + 1];
  }

  shownWords(side) {
    return this.rowOf(side).words.filter((word) => !word.hidden);
  }

  show() {
    const word = this.hovered ?? this.focused;
    if (word === this.shown) return;
    this.clear();
    this.shown = word;
    if (!word) return;
    word.classList.add("active");
    const { side, index } = word.position;
    if (side !== "source") this.visited = side;
    const lines = side === "source" ? this.showTargets(index) : [this.showSources(side, index)];
    setStatus(lines.join("; "), this);
  }

  clear() {
    this.shown = null;
    for (const { words } of this.rows) {
      for (const word of words) {
        word.classList.remove("active", ...MARKS);
        word.style.removeProperty("--share");
        word.lastChild.textContent = word.resting ?? "";
      }
    }
    setStatus("", this);
  }

  showSources(which, t) {
    const found = this.rows[0].words.map((word, s) => this.light(word, which, s, t));
    const { alignment, probabilities } = this.translations[which];
    const probability = probabilities ? `, probability ${percent(probabilities[t])}` : "";
    return `${isolated(alignment.target[t])}${probability} \u2190 ${listed(found)}`;
  }

  showTargets(s) {
    const name = isolated(s < this.source.length ? this.source[s] : END);
    return this.translations.map((_, which) => {
      const found = this.rowOf(which).words.map((word, t) => this.light(word, which, s, t));
      const number = this.translations.length > 1 ? ` (translation ${which + 1})` : "";
      return `${name} \u2192 ${listed(found)}${number}`;
    });
  }

  light(word, which, s, t) {
    const value = this.value(which, s, t);
    word.lastChild.textContent = value !== null && Math.abs(value) >= SMALLEST_SHOWN ? number(value) : "";
    this.mark(word, which, s, t, value);
    return { text: word.firstChild.textContent, value, link: this.linkOf(which, s, t) };
  }

  // Shows the shade, link and gold link of a word or of a table's cell.
  mark(shown, which, s, t, value) {
    const pair = `${s}-${t}`;
    if (value !== null) {
      const share = showing.view === "erasure" ? Math.abs(value) / this.most : Math.min(1, value);
      shown.classList.add("lit", showing.view === "attention" ? "attention" : value < 0 ? "rise" : "fall");
      shown.style.setProperty("--share", share.toFixed(3));
    }
    if (this.linkOf(which, s, t) !== undefined) shown.classList.add("link");
    if (which === 0 && this.sure.has(pair)) shown.classList.add("sure");
    else if (which === 0 && this.possible.has(pair)) shown.classList.add("possible");
  }

  // The share that made a link, null for a link of another rule; undefined where there is no link.
  linkOf(which, s, t) {
    return showing.view === "attention" ? this.links[which].get(`${s}-${t}`) : undefined;
  }

  changeView() {
    this.clear();
    this.unmeasured.hidden = showing.view === "attention" || this.erasure !== null;
    const end = this.rows[0].words.at(-1);
    end.hidden = showing.view === "erasure";
    const last = this.shownWords("source").at(-1); // undefined for a blank source
    if (end.hidden && end.tabIndex === 0 && last) stopAt(this, last);
    for (const fill of this.tables) fill();
    this.show();
  }
}

// Words at rest show their probability; improbable ones stand out.
function showProbabilities(words, probabilities) {
  words.forEach((word, t) => {
    word.resting = word.lastChild.textContent = percent(probabilities[t]);
    word.classList.toggle("unlikely", probabilities[t] < UNLIKELY);
  });
}

function pairs(links) {
  return new Set((links ?? []).map(([s, t]) => `${s}-${t}`));
}
