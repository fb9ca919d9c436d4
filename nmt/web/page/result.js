// A text with its translations by one model, and the panels below: the editor, a word left out, heat map, downloads.
import { copyText, sayFor } from "./clipboard.js";
import { pageOf, pngOf, save, svgText } from "./downloads.js";
import { Editor, button } from "./editor.js";
import { attentionCells, hasFalls, unknownFalls } from "./heatmap.js";
import { HeatMapPanel, drawingOf } from "./heatmap_panel.js";
import { Latest } from "./latest.js";
import { headingsOf, sentenceOf } from "./sentence_data.js";
import { ask } from "./server.js";
import { tagOf } from "./settings.js";
import { differing } from "./view/differences.js";
import { element, number } from "./view/elements.js";
import { SentenceView } from "./view/sentence.js";
import { withoutPanel } from "./without.js";

let sentences = 0;

export class Result {
  // `search` has the fields of requests that search; `fail` is called with an error.
  constructor({ model, text, candidates, probabilities, search, fail }) {
    Object.assign(this, { model, text, candidates, probabilities, fail });
    this.request = { text, model: model.name };
    this.searching = { ...this.request, ...search };
    this.explained = new Map();
    this.erasing = new Latest();
    this.place = element("div");
    this.panels = { editor: element("div"), without: element("div"), heatmap: element("div") };
    this.element = element("div", { class: "result" }, this.place, ...Object.values(this.panels));
    this.draw();
  }

  // The translation that panels are about: the user's own, or the model's best.
  get current() {
    return this.given ?? this.candidates[0];
  }

  draw() {
    const [best] = this.candidates;
    const own = `your translation, log-probability ${number(this.current.log_probability)}`;
    const theirs = `the model's, log-probability ${number(best.log_probability)}`;
    const shown = this.given ? [this.given, best] : this.candidates;
    this.sentence = sentenceOf(this.model, shown, this.given ? [own, theirs] : headingsOf(shown));
    this.sentence.translations.forEach((translation, which) => {
      translation.shows_probabilities = this.probabilities || (this.given !== undefined && which === 0);
    });
    this.view = new SentenceView(this.sentence, sentences++, (position) => this.press(position));
    this.view.rows[0].row.setAttribute("aria-describedby", "press-hint");
    this.view.columns.forEach((column, which) => column.append(this.toolsOf(shown[which], which)));
    this.view.article.append(this.downloads());
    this.place.replaceChildren(this.view.article);
    this.markAgainst(this.reference);
  }

  // Marks the words in which the best translation differs from another model's.
  markAgainst(reference) {
    this.reference = reference;
    const { words } = this.view.rows[1];
    const different = reference && !this.given ? differing(this.candidates[0].alignment.target, reference) : new Set();
    words.forEach((word, place) => word.classList.toggle("different", different.has(place)));
  }

  toolsOf(candidate, which) {
    const copy = button("Copy", () => copyText(candidate.text).then(() => sayFor(copy, "Copied"), this.fail));
    const edit = button("Edit", () => this.edit(candidate.text));
    if (which === 0) this.editButton = edit;
    const map = button("Heat map", () => this.toggleHeatMap(candidate, which));
    return element("div", { class: "tools" }, copy, edit, map);
  }

  press({ side, index }) {
    if (side === "source" && index < this.view.source.length) this.leaveOut(index);
    else if (side !== "source") this.edit(this.view.translations[side].text);
  }

  edit(text) {
    this.editor?.stop();
    const language = tagOf(this.model.target);
    const show = (candidate) => this.showGiven(candidate);
    this.editor = new Editor({ request: this.request, searching: this.searching, text, language, show, fail: this.fail, close: () => this.closeEditor() });
    this.panels.editor.replaceChildren(this.editor.element);
    this.editor.field.focus();
    this.editor.score();
  }

  showGiven(candidate) {
    this.fail(null);
    if (candidate.text.trim() === this.given?.text.trim()) return; // scored again: the panels about it stay
    this.given = candidate;
    this.closePanels();
    this.draw();
  }

  closeEditor() {
    this.editor.stop();
    this.given = undefined;
    this.panels.editor.replaceChildren();
    this.closePanels();
    this.draw();
    this.editButton.focus();
  }

  // The panels are about a translation that is there no more.
  closePanels() {
    this.putBack();
    this.panels.heatmap.replaceChildren();
    this.heatmap = undefined;
  }

  leaveOut(index) {
    const again = this.erased === index;
    this.putBack();
    if (again) return undefined;
    this.erased = index;
    this.view.rows[0].words[index].classList.add("erased");
    const task = (signal) =>
      Promise.all([ask("v1/translate", { ...this.searching, erase: [index], alignment: true }, signal), this.erasure(this.current)]);
    return this.erasing.run(task, ([answer, falls]) => this.showWithout(index, answer, falls), this.fail);
  }

  showWithout(index, answer, falls) {
    if (!hasFalls(falls, this.current.alignment.target.length, index + 1)) throw unknownFalls();
    const panel = withoutPanel({
      word: this.view.source[index],
      found: answer.translations[0].candidates[0],
      current: this.current,
      falls: falls.map((row) => row[index]),
      languages: this.sentence.languages,
      close: () => this.putBack(),
    });
    this.panels.without.replaceChildren(panel);
    this.fail(null);
  }

  putBack() {
    this.erasing.stop();
    if (this.erased !== undefined) this.view.rows[0].words[this.erased].classList.remove("erased");
    this.erased = undefined;
    this.panels.without.replaceChildren();
  }

  // The falls of a translation, [target words][source words]; the server computes them once.
  erasure({ text }) {
    if (!this.explained.has(text)) {
      const asked = ask("v1/explain", { ...this.request, target: text }).then(({ falls }) => falls);
      asked.catch(() => this.explained.delete(text));
      this.explained.set(text, asked);
    }
    return this.explained.get(text);
  }

  toggleHeatMap(candidate, which) {
    if (this.heatmap?.translation.text === candidate.text) return this.closePanels();
    const translation = this.sentence.translations[which];
    this.heatmap = new HeatMapPanel(this.sentence, translation, () => this.erasure(candidate), this.fail);
    return this.panels.heatmap.replaceChildren(this.heatmap.element);
  }

  downloads() {
    const kinds = { PNG: () => this.savePng(), SVG: () => this.saveSvg(), JSON: () => this.saveJson(), HTML: () => this.savePage() };
    const guarded = (act) => async () => {
      try {
        await act();
      } catch (error) {
        this.fail(error);
      }
    };
    const buttons = Object.entries(kinds).map(([name, act]) => button(name, guarded(act)));
    return element("details", { class: "download" }, element("summary", {}, "Download"), element("div", { class: "tools" }, ...buttons));
  }

  get drawing() {
    const [first] = this.sentence.translations;
    return this.heatmap?.svg ?? drawingOf(this.sentence, first, attentionCells(first.alignment), "attention");
  }

  async savePng() {
    save("attention.png", await pngOf(this.drawing), "image/png");
  }

  saveSvg() {
    save("attention.svg", svgText(this.drawing), "image/svg+xml");
  }

  saveJson() {
    const values = { model: this.model.name, source: this.text, translations: this.given ? [this.given] : this.candidates };
    save("translation.json", `${JSON.stringify(values, null, 1)}\n`, "application/json");
  }

  async savePage() {
    const falls = await this.explained.get(this.current.text);
    const { source, target } = this.current.alignment;
    const erasure = falls && hasFalls(falls, target.length, source.length) ? falls : null;
    save("translation.html", await pageOf([{ ...this.sentence, erasure }]), "text/html");
  }
}
