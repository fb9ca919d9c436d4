"use strict";
// Words come from the page's data, and are only ever set as text, never as HTML.

const { sentences } = JSON.parse(document.getElementById("data").textContent);
const END = "end of sentence";
const SMALLEST_SHOWN = 0.005; // smaller values round to 0.00
const MOST_LISTED = 8; // words in the status line
let view = "attention";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function number(value) {
  return value.toFixed(Math.abs(value) < 9.995 ? 2 : 1).replace("-", "\u2212");
}

// Keeps a word's own direction inside text of the other direction.
function isolated(word) {
  return `\u2068${word}\u2069`;
}

class SentenceView {
  constructor(data, index) {
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
    this.hovered = this.focused = null;
    this.article = this.draw(data, index);
  }

  // The attention of target word t to source word s, or the effect of erasing s on t; null where not measured.
  value(which, s, t) {
    if (view === "erasure") return which === 0 ? (this.erasure?.[t][s] ?? null) : null;
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
    const beside = element("div", { class: "translations" });
    this.translations.forEach((translation, which) => beside.append(this.column(translation, which)));
    article.append(source.row, beside);
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
    section.append(row);
    if (target.length === 0) section.append(element("p", { class: "quiet" }, "no words"));
    else if (this.source.length > 0) section.append(this.table(which, name));
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

  table(which, name) {
    const details = element("details", {}, element("summary", {}, "table"));
    const scroll = element("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `table, ${name}` });
    details.append(scroll);
    this.tables ??= [];
    const fill = () => details.open && scroll.replaceChildren(this.cells(which));
    this.tables.push(fill);
    details.addEventListener("toggle", fill); // a table is made when it is first opened
    return details;
  }

  cells(which) {
    const columns = view === "attention" ? [...this.source, END] : this.source;
    const heads = columns.map((word) => element("th", { scope: "col", lang: this.languages[0] }, element("bdi", {}, word)));
    const body = this.translations[which].alignment.target.map((word, t) => {
      const row = element("tr", {}, element("th", { scope: "row", lang: this.languages[1] }, element("bdi", {}, word)));
      columns.forEach((_, s) => row.append(this.cell(which, s, t)));
      return row;
    });
    const head = element("thead", {}, element("tr", {}, element("td"), ...heads));
    return element("table", { dir: this.direction }, head, element("tbody", {}, ...body));
  }

  cell(which, s, t) {
    const cell = element("td");
    const value = this.value(which, s, t);
    if (value !== null && Math.abs(value) >= SMALLEST_SHOWN) cell.textContent = number(value);
    this.mark(cell, which, s, t, value);
    return cell;
  }

  listen(article) {
    const show = () => this.show();
    article.addEventListener("mouseover", (event) => {
      this.hovered = event.target.closest(".word");
      show();
    });
    article.addEventListener("mouseleave", () => {
      this.hovered = null;
      show();
    });
    article.addEventListener("focusin", (event) => {
      this.focused = event.target.closest(".word");
      show();
    });
    article.addEventListener("focusout", () => {
      this.focused = null;
      show();
    });
    article.addEventListener("click", (event) => event.target.closest(".word")?.focus()); // not every browser focuses a button on click
    article.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const word = event.target.closest(".word");
    if (!word || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = this.rowOf(word.position.side).row;
    const words = this.shownWords(word.position.side);
    const forward = getComputedStyle(row).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const next = {
      ArrowLeft: words[word.position.index + (forward === "ArrowLeft" ? 1 : -1)],
      ArrowRight: words[word.position.index + (forward === "ArrowRight" ? 1 : -1)],
      Home: words[0],
      End: words.at(-1),
      ArrowUp: word.position.side === "source" ? undefined : this.strongest(word),
      ArrowDown: word.position.side === "source" ? this.strongest(word) : undefined,
    };
    if (event.key === "Escape") {
      this.hovered = null;
      word.blur();
    } else if (next[event.key]) {
      event.preventDefault(); // the browser would scroll
      this.focus(next[event.key]);
    }
  }

  // The word on the other side with the largest value; from the source, in the translation visited last.
  strongest(word) {
    const { side, index } = word.position;
    const which = side === "source" ? (this.visited ?? 0) : side;
    const other = side === "source" ? this.rowOf(which).words : this.rows[0].words;
    const strength = other.map((candidate) => {
      const [s, t] = side === "source" ? [index, candidate.position.index] : [candidate.position.index, index];
      return this.value(which, s, t) ?? -Infinity;
    });
    return other[strength.indexOf(Math.max(...strength))];
  }

  rowOf(side) {
    return side === "source" ? this.rows[0] : this.rows[side + 1];
  }

  shownWords(side) {
    return this.rowOf(side).words.filter((word) => !word.hidden);
  }

  focus(word) {
    this.stopAt(word);
    word.focus();
  }

  // Makes this word the one of its row that the Tab key reaches.
  stopAt(word) {
    for (const other of this.rowOf(word.position.side).words) other.tabIndex = other === word ? 0 : -1;
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
        word.lastChild.textContent = "";
      }
    }
    setStatus("", this);
  }

  showSources(which, t) {
    const found = this.rows[0].words.map((word, s) => this.light(word, which, s, t));
    return `${isolated(this.translations[which].alignment.target[t])} \u2190 ${listed(found)}`;
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
    if (value !== null && Math.abs(value) >= SMALLEST_SHOWN) word.lastChild.textContent = number(value);
    this.mark(word, which, s, t, value);
    return { text: word.firstChild.textContent, value, link: this.linkOf(which, s, t) };
  }

  // Shows the shade, link and gold link of a word or of a table's cell.
  mark(shown, which, s, t, value) {
    const pair = `${s}-${t}`;
    if (value !== null) {
      const share = view === "erasure" ? Math.abs(value) / this.most : Math.min(1, value);
      shown.classList.add("lit", view === "attention" ? "attention" : value < 0 ? "rise" : "fall");
      shown.style.setProperty("--share", share.toFixed(3));
    }
    if (this.linkOf(which, s, t) !== undefined) shown.classList.add("link");
    if (which === 0 && this.sure.has(pair)) shown.classList.add("sure");
    else if (which === 0 && this.possible.has(pair)) shown.classList.add("possible");
  }

  // The share that made a link, null for a link of another rule; undefined where there is no link.
  linkOf(which, s, t) {
    return view === "attention" ? this.links[which].get(`${s}-${t}`) : undefined;
  }

  changeView() {
    this.clear();
    this.unmeasured.hidden = view === "attention" || this.erasure !== null;
    const end = this.rows[0].words.at(-1);
    end.hidden = view === "erasure";
    const last = this.shownWords("source").at(-1); // undefined for a blank source
    if (end.hidden && end.tabIndex === 0 && last) this.stopAt(last);
    for (const fill of this.tables ?? []) fill();
    this.show();
  }
}

const MARKS = ["lit", "attention", "rise", "fall", "link", "sure", "possible"];

// The status line belongs to the sentence that wrote it last: only that one may clear it.
let statusOwner = null;

function setStatus(text, owner) {
  if (text === "" && statusOwner !== owner) return;
  statusOwner = owner;
  document.getElementById("status").textContent = text;
}

function pairs(links) {
  return new Set((links ?? []).map(([s, t]) => `${s}-${t}`));
}

function listed(found) {
  const named = found.filter(({ value }) => value !== null && Math.abs(value) >= SMALLEST_SHOWN);
  named.sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
  const shown = named.slice(0, MOST_LISTED).map(({ text, value, link }) => `${isolated(text)} ${number(value)}${linked(link)}`);
  return shown.length > 0 ? shown.join(", ") + (named.length > MOST_LISTED ? ", \u2026" : "") : "nothing";
}

function linked(share) {
  if (share === undefined) return "";
  return share === null ? " (link)" : ` (link, share ${(100 * share).toFixed(0)} %)`;
}

// The rule that made the links of all sentences, if there is one.
function ruleOfLinks() {
  const rules = new Set(sentences.flatMap((sentence) => sentence.translations.map(({ rule }) => rule)));
  const [rule] = rules;
  return rules.size === 1 && rule ? `link: ${rule}` : "link";
}

function drawLegend() {
  const sample = (kind, text) => element("span", {}, element("span", { class: `sample ${kind}` }, "word"), ` ${text}`);
  const legend = document.getElementById("legend");
  const gold = sentences.some((sentence) => sentence.gold);
  if (view === "attention") {
    legend.replaceChildren(
      element("span", {}, "attention 0", element("span", { class: "scale" }), "1"),
      sample("link", ruleOfLinks()),
    );
  } else {
    const scale = element("span", { class: "scale erasure" });
    const meaning = "log-probability of the target word (nats) when the source word is erased: rises";
    legend.replaceChildren(element("span", {}, meaning, scale, "falls"));
  }
  if (gold) legend.append(sample("sure", "gold link, sure"), sample("possible", "gold link, possible"));
}

function drawViews(drawn) {
  if (!sentences.some((sentence) => sentence.erasure)) return;
  const choice = (name, text) => {
    const input = element("input", { type: "radio", name: "view", value: name });
    input.checked = name === view;
    input.addEventListener("change", () => {
      view = name;
      drawLegend();
      drawn.forEach((sentence) => sentence.changeView());
    });
    return element("label", {}, input, ` ${text}`);
  };
  const choices = [choice("attention", "attention"), choice("erasure", "erasure")];
  const explanation = element(
    "p",
    {},
    "Attention shows where the model looked, which is not always the reason for its choice of a word. Erasure tests the " +
      "reason: how far the log-probability of a target word falls when a source word is removed.",
  );
  document.getElementById("views").append(element("fieldset", {}, element("legend", {}, "view"), ...choices, explanation));
}

const drawn = sentences.map((sentence, index) => new SentenceView(sentence, index));
document.querySelector("main").append(...drawn.map((sentence) => sentence.article));
drawLegend();
drawViews(drawn);
