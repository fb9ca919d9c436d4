// The settings: the models beside each other, alternatives, beam size, probabilities.
import { element } from "./view/elements.js";

const MOST_ALTERNATIVES = 5;
const byId = (id) => document.getElementById(id);

export class Settings {
  // `changed` is called when the user changes a setting.
  constructor(changed) {
    this.models = [];
    this.changed = () => {
      this.#showUsed();
      changed();
    };
    for (const id of ["alternatives", "beam", "probabilities"]) byId(id).addEventListener("change", this.changed);
  }

  // Offers the models of the server; `chosen` names those that are on, by default the first one.
  offer(models, limits, chosen) {
    this.models = models;
    this.limits = limits;
    byId("beam").max = limits.beam_size;
    byId("alternatives").max = Math.min(MOST_ALTERNATIVES, limits.beam_size);
    const on = chosen.filter((name) => models.some((model) => model.name === name));
    if (on.length === 0 && models.length > 0) on.push(models[0].name);
    const boxes = models.map((model) => {
      const box = element("input", { type: "checkbox", value: model.name });
      box.checked = on.includes(model.name);
      box.addEventListener("change", () => this.#choose(box));
      return element("label", {}, box, ` ${model.name} `, element("span", { class: "quiet" }, languagesOf(model)));
    });
    byId("models").replaceChildren(byId("models").firstElementChild, ...boxes);
    byId("models").hidden = models.length < 2;
    this.#showUsed();
  }

  // Writes the numbers within their bounds into the fields.
  #showUsed() {
    byId("alternatives").value = this.alternatives;
    byId("beam").value = this.beam ?? "";
  }

  // At least one model stays on.
  #choose(box) {
    if (this.chosen.length === 0) box.checked = true;
    else this.changed();
  }

  get chosen() {
    const names = [...byId("models").querySelectorAll("input:checked")].map((box) => box.value);
    return this.models.filter((model) => names.includes(model.name));
  }

  get alternatives() {
    return between(1, Number(byId("alternatives").value) || 1, Number(byId("alternatives").max));
  }

  // The fields of requests that search.
  get search() {
    return this.beam ? { beam_size: this.beam } : {};
  }

  get beam() {
    const value = Number(byId("beam").value);
    return value ? Math.max(this.alternatives, between(1, value, Number(byId("beam").max))) : null;
  }

  get probabilities() {
    return byId("probabilities").checked;
  }

  set({ alternatives, beam }) {
    byId("alternatives").value = alternatives;
    byId("beam").value = beam ?? "";
  }
}

// The languages of a model in words, such as "English → French".
export function languagesOf(model) {
  const names = [model.source, model.target].map((side) => nameOf(tagOf(side)));
  return names.every(Boolean) ? names.join(" \u2192 ") : "";
}

// The tag of a side's language; empty if only its script is known, or nothing.
export function tagOf(side) {
  return side && !side.tag.startsWith("und") ? side.tag : "";
}

function nameOf(tag) {
  if (!tag) return "";
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(tag);
  } catch {
    return tag;
  }
}

function between(least, value, most) {
  return Math.min(Math.max(least, Math.round(value)), most);
}
