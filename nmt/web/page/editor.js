// The user's own translation: scored and aligned when typing stops, or completed from the cursor on.
import { QUIET } from "./compose.js";
import { Latest, Quiet } from "./latest.js";
import { ask } from "./server.js";
import { element } from "./view/elements.js";

export class Editor {
  // `request` has the source text and the model, `searching` also the fields of a search; `show` is called with the
  // server's candidate, `fail` with an error.
  constructor({ request, searching, text, language, show, fail, close }) {
    Object.assign(this, { request, searching, show, fail, latest: new Latest() });
    const attributes = { rows: 2, dir: "auto", lang: language, spellcheck: "false", "aria-label": "your translation" };
    this.field = element("textarea", attributes);
    this.field.value = text;
    this.quiet = new Quiet(QUIET, () => this.score());
    this.field.addEventListener("compositionstart", () => this.latest.stop());
    this.field.addEventListener("input", (event) => {
      if (event.isComposing) return;
      this.latest.stop(); // an answer for the text before this key would overwrite it
      this.quiet.soon();
    });
    this.field.addEventListener("compositionend", this.quiet.soon);
    this.field.addEventListener("keydown", (event) => this.key(event, close));
    const complete = button("Complete from the cursor", () => this.complete());
    complete.title = "Ctrl+Enter";
    const tools = element("div", { class: "tools" }, complete, button("Back to the model's", close));
    const hint = "Edit the translation: the model aligns it and gives the probability of each word.";
    this.element = element("div", { class: "panel editor" }, element("p", { class: "quiet" }, hint), this.field, tools);
  }

  key(event, close) {
    if (event.isComposing) return; // the key is for the input method
    if (event.key === "Escape") close();
    else if (event.key === "Enter") {
      event.preventDefault(); // a translation is one line
      if (event.ctrlKey || event.metaKey) this.complete();
      else this.score();
    }
  }

  score() {
    const target = oneLine(this.field.value);
    if (target.trim() === "") return this.latest.stop();
    const body = { ...this.request, target, alignment: true };
    return this.latest.run((signal) => ask("v1/translate", body, signal), (answer) => this.show(best(answer)), this.fail);
  }

  // Keeps the text before the cursor, and selects the words that the model adds.
  complete() {
    this.quiet.cancel();
    const prefix = oneLine(this.field.value.slice(0, this.field.selectionStart));
    const body = { ...this.searching, prefix, alignment: true };
    const finish = (answer) => {
      const found = best(answer);
      this.field.value = found.text;
      this.field.focus();
      this.field.setSelectionRange(found.text.startsWith(prefix) ? prefix.length : 0, found.text.length);
      this.show(found);
    };
    return this.latest.run((signal) => ask("v1/translate", body, signal), finish, this.fail);
  }

  stop() {
    this.quiet.cancel();
    this.latest.stop();
  }
}

function oneLine(text) {
  return text.replaceAll("\n", " ");
}

function best(answer) {
  return answer.translations[0].candidates[0];
}

export function button(text, act) {
  const made = element("button", { type: "button" }, text);
  made.addEventListener("click", act);
  return made;
}
