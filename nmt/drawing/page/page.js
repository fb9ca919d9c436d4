"use strict";
// Words come out of the page's data and are only ever set as text.

const { entries } = JSON.parse(document.getElementById("data").textContent);
const END = "end of sentence";
const LEAST = 0.005; // smaller values round to 0.00, which says nothing
const LISTED = 8; // most words that the line at the bottom names
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

// A word in a sentence of another direction keeps its own.
function isolated(word) {
  return `\u2068${word}\u2069`;
}

class Entry {
  constructor(data, index) {
    this.translations = data.translations;
    this.source = data.translations[0].alignment.source;
    this.erasure = data.erasure;
    // Not all cells as arguments of one call: of a long pair there are more than a call takes.
    this.most = (data.erasure ?? []).flat().reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
    this.sure = pairs(data.gold?.sure);
    this.possible = pairs(data.gold?.possible);
    this.links = data.translations.map((translation) => pairs(translation.alignment.links));
    this.hovered = this.focused = null;
    this.article = this.draw(data.label, index);
  }

  // How much target word t of a translation has to do with source word s; null where that was not measured.
  value(which, s, t) {
    if (view === "erasure") return which === 0 ? (this.erasure?.[t][s] ?? null) : null;
    const alignment = this.translations[which].alignment;
    return s < this.source.length ? alignment.weights[t][s] : alignment.end_of_sentence[t];
  }

  draw(label, index) {
    const id = `entry-${index + 1}`;
    const article = element("article", { "aria-labelledby": id }, element("h2", { id, dir: "auto" }, label));
    this.unmeasured = element("p", { class: "quiet", hidden: "" }, "Erasure was not measured here.");
    article.append(this.unmeasured, element("p", { class: "label" }, "source"));
    const source = this.row([...this.source, END], "source", "source");
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
    const said = translation.log_probability;
    const heading = said === null ? name : `${name}, log-probability ${number(said)}`;
    const section = element("section", { class: "translation" }, element("h3", {}, heading));
    const target = translation.alignment.target;
    const { row, words } = this.row(target, which, name);
    this.rows.push({ row, words });
    section.append(row);
    if (target.length === 0) section.append(element("p", { class: "quiet" }, "no words"));
    else if (this.source.length > 0) section.append(this.table(which, name));
    return section;
  }

  // One stop of the Tab key; the arrow keys move within.
  row(texts, side, name) {
    const words = texts.map((text, index) => {
      const shown = [element("span", { class: "text" }, text), element("span", { class: "value" })];
      const word = element("button", { type: "button", class: "word", tabindex: index === 0 ? 0 : -1 }, ...shown);
      word.place = { side, index };
      return word;
    });
    const row = element("p", { class: "words", dir: "auto", lang: "", role: "group", "aria-label": name }, ...words);
    return { row, words };
  }

  table(which, name) {
    const details = element("details", {}, element("summary", {}, "table"));
    const scroll = element("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `table, ${name}` });
    details.append(scroll);
    this.tables ??= [];
    const fill = () => details.open && scroll.replaceChildren(this.cells(which));
    this.tables.push(fill);
    details.addEventListener("toggle", fill); // not made before it is wanted
    return details;
  }

  cells(which) {
    const columns = view === "attention" ? [...this.source, END] : this.source;
    const heads = columns.map((word) => element("th", { scope: "col", lang: "" }, element("bdi", {}, word)));
    const body = this.translations[which].alignment.target.map((word, t) => {
      const row = element("tr", {}, element("th", { scope: "row", lang: "" }, element("bdi", {}, word)));
      columns.forEach((_, s) => row.append(this.cell(which, s, t)));
      return row;
    });
    const head = element("thead", {}, element("tr", {}, element("td"), ...heads));
    return element("table", {}, head, element("tbody", {}, ...body));
  }

  cell(which, s, t) {
    const cell = element("td");
    const value = this.value(which, s, t);
    if (value !== null && Math.abs(value) >= LEAST) cell.textContent = number(value);
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
    article.addEventListener("click", (event) => event.target.closest(".word")?.focus()); // not every browser does
    article.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const word = event.target.closest(".word");
    if (!word || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = this.rowOf(word.place.side).row;
    const words = this.shownWords(word.place.side);
    const forward = getComputedStyle(row).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const next = {
      ArrowLeft: words[word.place.index + (forward === "ArrowLeft" ? 1 : -1)],
      ArrowRight: words[word.place.index + (forward === "ArrowRight" ? 1 : -1)],
      Home: words[0],
      End: words.at(-1),
      ArrowUp: word.place.side === "source" ? undefined : this.strongest(word),
      ArrowDown: word.place.side === "source" ? this.strongest(word) : undefined,
    };
    if (event.key === "Escape") {
      this.hovered = null;
      word.blur();
    } else if (next[event.key]) {
      event.preventDefault(); // of scrolling
      this.focus(next[event.key]);
    }
  }

  // The word on the other side that has most to do with this one; from the source, in the translation last visited.
  strongest(word) {
    const { side, index } = word.place;
    const which = side === "source" ? (this.visited ?? 0) : side;
    const other = side === "source" ? this.rowOf(which).words : this.rows[0].words;
    const strength = other.map((candidate) => {
      const [s, t] = side === "source" ? [index, candidate.place.index] : [candidate.place.index, index];
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

  // The one word of its row that the Tab key comes to.
  stopAt(word) {
    for (const other of this.rowOf(word.place.side).words) other.tabIndex = other === word ? 0 : -1;
  }

  show() {
    const word = this.hovered ?? this.focused;
    if (word === this.shown) return;
    this.clear();
    this.shown = word;
    if (!word) return;
    word.classList.add("active");
    const { side, index } = word.place;
    if (side !== "source") this.visited = side;
    const lines = side === "source" ? this.showTargets(index) : [this.showSources(side, index)];
    say(lines.join("; "), this);
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
    say("", this);
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
    if (value !== null && Math.abs(value) >= LEAST) word.lastChild.textContent = number(value);
    this.mark(word, which, s, t, value);
    return { text: word.firstChild.textContent, value };
  }

  // Shade, link and gold link of a word that is lit, or of a cell of a table.
  mark(where, which, s, t, value) {
    const place = `${s}-${t}`;
    if (value !== null) {
      const share = view === "erasure" ? Math.abs(value) / this.most : Math.min(1, value);
      where.classList.add("lit", view === "attention" ? "attention" : value < 0 ? "rise" : "fall");
      where.style.setProperty("--share", share.toFixed(3));
    }
    if (view === "attention" && this.links[which].has(place)) where.classList.add("link");
    if (which === 0 && this.sure.has(place)) where.classList.add("sure");
    else if (which === 0 && this.possible.has(place)) where.classList.add("possible");
  }

  changeView() {
    this.clear();
    this.unmeasured.hidden = view === "attention" || this.erasure !== null;
    const end = this.rows[0].words.at(-1);
    end.hidden = view === "erasure";
    const last = this.shownWords("source").at(-1); // none of a blank source
    if (end.hidden && end.tabIndex === 0 && last) this.stopAt(last);
    for (const fill of this.tables ?? []) fill();
    this.show();
  }
}

const MARKS = ["lit", "attention", "rise", "fall", "link", "sure", "possible"];

// The line at the bottom belongs to the entry that spoke last: only it may take its words back.
let speaker = null;

function say(text, entry) {
  if (text === "" && speaker !== entry) return;
  speaker = entry;
  document.getElementById("status").textContent = text;
}

function pairs(links) {
  return new Set((links ?? []).map(([s, t]) => `${s}-${t}`));
}

function listed(found) {
  const named = found.filter(({ value }) => value !== null && Math.abs(value) >= LEAST);
  named.sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
  const shown = named.slice(0, LISTED).map(({ text, value }) => `${isolated(text)} ${number(value)}`);
  return shown.length > 0 ? shown.join(", ") + (named.length > LISTED ? ", \u2026" : "") : "nothing";
}

function drawLegend() {
  const sample = (kind, text) => element("span", {}, element("span", { class: `sample ${kind}` }, "word"), ` ${text}`);
  const legend = document.getElementById("legend");
  const gold = entries.some((entry) => entry.gold);
  if (view === "attention") {
    legend.replaceChildren(
      element("span", {}, "attention 0", element("span", { class: "scale" }), "1"),
      sample("link", "linked by the model"),
    );
  } else {
    const scale = element("span", { class: "scale erasure" });
    const about = "log-probability of the target word (nats) when the source word is erased: rises";
    legend.replaceChildren(element("span", {}, about, scale, "falls"));
  }
  if (gold) legend.append(sample("sure", "gold link, sure"), sample("possible", "gold link, possible"));
}

function drawViews(drawn) {
  if (!entries.some((entry) => entry.erasure)) return;
  const choice = (name, text) => {
    const input = element("input", { type: "radio", name: "view", value: name });
    input.checked = name === view;
    input.addEventListener("change", () => {
      view = name;
      drawLegend();
      drawn.forEach((entry) => entry.changeView());
    });
    return element("label", {}, input, ` ${text}`);
  };
  const choices = [choice("attention", "attention"), choice("erasure", "erasure")];
  const why = element(
    "p",
    {},
    "Attention is where the model looked, which is not always the reason for what it wrote. Erasure tests the reason: " +
      "how far the log-probability of a target word falls when a source word is taken away.",
  );
  document.getElementById("views").append(element("fieldset", {}, element("legend", {}, "view"), ...choices, why));
}

const drawn = entries.map((entry, index) => new Entry(entry, index));
document.querySelector("main").append(...drawn.map((entry) => entry.article));
drawLegend();
drawViews(drawn);
