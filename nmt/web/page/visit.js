// The texts of this visit, the newest first. The browser forgets them with the tab.
import { element } from "./view/elements.js";

const KEY = "nmt.visit";
const MOST = 30;

export class Visit {
  // `open` is called with a text of the list.
  constructor(open) {
    this.open = open;
    this.texts = stored();
    document.getElementById("forget").addEventListener("click", () => this.keep([]));
    this.draw();
  }

  // Adds a text. A text that continues the newest one takes its place: it was still being typed.
  add({ text, translation }) {
    const rest = this.texts.filter((entry, place) => entry.text !== text && !(place === 0 && isContinued(entry.text, text)));
    this.keep([{ text, translation }, ...rest].slice(0, MOST));
  }

  keep(texts) {
    this.texts = texts;
    try {
      sessionStorage.setItem(KEY, JSON.stringify(texts));
    } catch {
      // storage is full or off: the list lives as long as the page
    }
    this.draw();
  }

  draw() {
    const entries = this.texts.map((entry) => {
      const parts = [element("bdi", {}, entry.text), element("bdi", { class: "quiet" }, entry.translation)];
      const button = element("button", { type: "button", class: "past" }, ...parts);
      button.addEventListener("click", () => this.open(entry.text));
      return element("li", {}, button);
    });
    document.getElementById("past").replaceChildren(...entries);
    document.getElementById("visit").hidden = entries.length === 0;
  }
}

function isContinued(older, newer) {
  return newer.startsWith(older) || older.startsWith(newer);
}

function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}
