// A text file, translated line by line with progress: as many lines come out as went in.
import { save } from "./downloads.js";
import { button } from "./editor.js";
import { askPatiently, isAborted } from "./server.js";
import { tagOf } from "./settings.js";
import { element } from "./view/elements.js";

const TOGETHER = 32; // lines of a request, if the server takes as many
const MOST_BYTES = 20_000_000;
const DIVISIBLE = new Set([413, 422, 504]); // statuses of requests of which a part may succeed

export class FileJob {
  // `model` translates, `search` has the fields of the search, `limits` are the server's, `fail` is called with an error.
  constructor(file, model, search, limits, fail) {
    Object.assign(this, { file, model, search, fail, controller: new AbortController(), found: [], empty: [] });
    this.most = Math.min(TOGETHER, limits.texts);
    this.together = this.most; // fewer while the server finds so many too large or too slow
    this.progress = element("progress", { value: 0, max: 1, "aria-label": `lines of ${file.name} translated` });
    this.line = element("p", { role: "status" }, file.name);
    this.tools = element("div", { class: "tools" });
    this.element = element("div", { class: "panel" }, this.line, this.progress, this.tools);
  }

  async run() {
    try {
      this.lines = await linesOf(this.file);
    } catch (error) {
      this.element.remove();
      return this.fail(error);
    }
    this.progress.max = Math.max(1, this.lines.length);
    return this.goOn();
  }

  // Translates the lines behind those that are done.
  async goOn() {
    this.tools.replaceChildren(button("Cancel", () => this.cancel()));
    try {
      while (this.found.length < this.lines.length) await this.translateSome();
      this.finish();
    } catch (error) {
      if (!isAborted(error)) this.halt(error);
    }
  }

  async translateSome() {
    const first = this.found.length;
    const text = this.lines.slice(first, first + this.together);
    try {
      const answer = await askPatiently("v1/translate", { text, model: this.model.name, ...this.search }, this.controller.signal);
      this.found.push(...answer.translations.map(({ candidates }) => candidates[0].text));
      this.together = Math.min(this.most, 2 * this.together);
    } catch (error) {
      if (!DIVISIBLE.has(error.status) || text.length === 1) throw error;
      this.together = Math.ceil(text.length / 2);
    }
    this.show("");
  }

  show(more) {
    this.progress.value = this.found.length;
    this.line.textContent = `${this.file.name}: ${this.found.length} of ${this.lines.length} lines${more}`;
  }

  // Stops at an error, which costs no line that is done.
  halt(error) {
    const place = this.found.length + 1;
    const last = Math.min(this.found.length + this.together, this.lines.length);
    const where = last > place ? `lines ${place} to ${last}` : `line ${place}`;
    this.fail({ ...error, message: `${this.file.name}, ${where}: ${error.message}` });
    this.show("");
    const tools = [button("Go on", () => this.resume()), button("Close", () => this.element.remove())];
    if (last === place && DIVISIBLE.has(error.status)) tools.splice(1, 0, button(`Leave line ${place} empty`, () => this.leaveOut(place)));
    if (place > 1) tools.unshift(this.saveButton(`Save the first ${place - 1} lines`));
    this.tools.replaceChildren(...tools);
    this.takeFocus();
  }

  resume() {
    this.fail(null);
    return this.goOn();
  }

  leaveOut(place) {
    this.found.push("");
    this.empty.push(place);
    return this.resume();
  }

  finish() {
    this.show(this.empty.length > 0 ? `, done; left empty: ${this.empty.join(", ")}` : ", done");
    this.tools.replaceChildren(this.saveButton(`Save ${this.name}`), button("Close", () => this.element.remove()));
    this.takeFocus();
  }

  get name() {
    return this.file.name.replace(/(\.[^.]*)?$/, `.${tagOf(this.model.target) || "translated"}$&`);
  }

  saveButton(text) {
    return button(text, () => save(this.name, this.found.map((line) => `${line}\n`).join(""), "text/plain;charset=utf-8"));
  }

  // The first button gets the focus, unless the user is somewhere else on the page.
  takeFocus() {
    const active = document.activeElement;
    if (active === document.body || active === null || this.element.contains(active)) this.tools.firstElementChild.focus();
  }

  cancel() {
    this.controller.abort();
    this.element.remove();
  }
}

// The lines of a UTF-8 file; the last line may lack its end.
async function linesOf(file) {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} has ${file.size} bytes: the page takes up to ${MOST_BYTES}, nmt translate any size`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not UTF-8 text: save it as UTF-8`);
  }
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

// Calls `take` with each file that is dropped on the page.
export function onDrop(take) {
  const sign = document.getElementById("drop");
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  const show = (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    sign.hidden = false;
  };
  document.addEventListener("dragenter", show);
  document.addEventListener("dragover", show);
  document.addEventListener("dragleave", (event) => event.relatedTarget === null && (sign.hidden = true));
  document.addEventListener("drop", (event) => {
    sign.hidden = true;
    if (!carries(event)) return;
    event.preventDefault();
    for (const file of event.dataTransfer.files) take(file);
  });
}
