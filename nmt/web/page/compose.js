// The field for the text: reports when typing stops, and once an input method has finished a word.
import { Quiet } from "./latest.js";

export const QUIET = 350; // milliseconds without a key

export class Compose {
  // `changing` is called with every key, `stopped` when typing stops.
  constructor(changing, stopped) {
    this.field = document.getElementById("text");
    const quiet = new Quiet(QUIET, stopped);
    this.field.addEventListener("input", (event) => {
      if (event.isComposing) return; // an input method is still choosing characters
      changing();
      quiet.soon();
    });
    this.field.addEventListener("compositionend", quiet.soon);
  }

  get text() {
    return this.field.value;
  }

  set text(value) {
    this.field.value = value;
  }

  // The lines that have something to translate.
  get lines() {
    return this.text.split("\n").filter((line) => line.trim() !== "");
  }

  readIn(language) {
    if (language) this.field.lang = language;
    else this.field.removeAttribute("lang");
  }
}
