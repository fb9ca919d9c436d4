// A text file, translated line by line with progress: as many lines come out as went in.
import { save } from "./downloads.js";
import { button } from "./editor.js";
import { askPatiently, isAborted } from "./server.js";
import { tagOf } from "./settings.js";
import { element } from "./view/elements.js";

const TOGETHER = 32; // lines of a request, if the server takes as many
const MOST_BYTES = 20_000_000;

export class FileJob {
  // `model` translates, `search` has the fields of the search, `limits` are the server's, `fail` is called with an error.
  constructor(file, model, search, limits, fail) {
    Object.assign(this, { file, model, search, fail, controller: new AbortController() });
    this.together = Math.min(TOGETHER, limits.texts);
    this.progress = element("progress", { value: 0, max: 1, "aria-label": `lines of ${file.name} translated` });
    this.line = element("p", { role: "status" }, file.name);
    this.tools = element("div", { class: "tools" }, button("Cancel", () => this.cancel()));
    this.element = element("div", { class: "panel" }, this.line, this.progress, this.tools);
  }

  async run() {
    try {
      const lines = await linesOf(this.file);
      const found = await this.translate(lines);
      this.finish(found);
    } catch (error) {
      this.element.remove();
      if (!isAborted(error)) this.fail(error);
    }
  }

  async translate(lines) {
    const found = [];
    this.progress.max = Math.max(1, lines.length);
    for (let first = 0; first < lines.length; first += this.together) {
      const text = lines.slice(first, first + this.together);
      found.push(...(await this.ask(text, first)));
      this.progress.value = found.length;
      this.line.textContent = `${this.file.name}: ${found.length} of ${lines.length} lines`;
    }
    return found;
  }

  async ask(text, first) {
    try {
      const answer = await askPatiently("v1/translate", { text, model: this.model.name, ...this.search }, this.controller.signal);
      return answer.translations.map(({ candidates }) => candidates[0].text);
    } catch (error) {
      if (!isAborted(error)) error.message = `${this.file.name}, lines ${first + 1} to ${first + text.length}: ${error.message}`;
      throw error;
    }
  }

  finish(found) {
    const name = this.file.name.replace(/(\.[^.]*)?$/, `.${tagOf(this.model.target) || "translated"}$&`);
    const keep = button(`Save ${name}`, () => save(name, found.map((line) => `${line}\n`).join(""), "text/plain;charset=utf-8"));
    this.line.textContent = `${this.file.name}: ${found.length} of ${found.length} lines, done`;
    this.tools.replaceChildren(keep, button("Close", () => this.element.remove()));
    keep.focus();
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
