// The heat map below a translation: its attention, or its erasure, which the server computes when it is chosen.
import { attentionCells, erasureCells, heatMap } from "./heatmap.js";
import { element } from "./view/elements.js";

const MOST_WORDS = 100; // on a side
let groups = 0;

export class HeatMapPanel {
  // `erasure` is called for the falls of the translation, and `fail` with an error.
  constructor(sentence, translation, erasure, fail) {
    Object.assign(this, { sentence, translation, erasure, fail });
    this.drawing = element("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "heat map" });
    groups += 1;
    const choices = element("fieldset", {}, element("legend", {}, "heat map"), this.choice("attention"), this.choice("erasure"));
    this.element = element("div", { class: "panel heatmap" }, choices, this.drawing);
    this.show("attention");
  }

  choice(kind) {
    const input = element("input", { type: "radio", name: `heatmap-${groups}`, value: kind });
    input.checked = kind === "attention";
    input.addEventListener("change", () => this.show(kind));
    return element("label", {}, input, ` ${kind}`);
  }

  async show(kind) {
    this.kind = kind;
    try {
      const { alignment } = this.translation;
      const cells = kind === "attention" ? attentionCells(alignment) : erasureCells(await this.erasure(), alignment);
      if (this.kind === kind) this.drawing.replaceChildren(drawingOf(this.sentence, this.translation, cells, kind));
    } catch (error) {
      this.fail(error);
    }
  }

  get svg() {
    return this.drawing.firstElementChild;
  }
}

// The drawing of some cells of a translation. Pairs of very many words have none: an error says so.
export function drawingOf(sentence, { alignment, text }, cells, kind) {
  const { source, target } = alignment;
  if (Math.max(source.length, target.length) > MOST_WORDS) {
    throw new Error(`a heat map has room for ${MOST_WORDS} words on a side: this pair has ${source.length} and ${target.length}`);
  }
  const links = kind === "attention" ? alignment.links : [];
  return heatMap({ source, target, links, cells, direction: sentence.direction, title: `${kind} of: ${text}` });
}
