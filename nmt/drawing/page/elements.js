// Elements of the page. Words come from data, and are only ever set as text, never as HTML.

export const END = "end of sentence";
export const SMALLEST_SHOWN = 0.005; // smaller values round to 0.00

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function number(value) {
  return value.toFixed(Math.abs(value) < 9.995 ? 2 : 1).replace("-", "\u2212");
}

export function percent(share) {
  return share > 0 && share < 0.005 ? "< 1 %" : `${(100 * share).toFixed(0)} %`;
}

// Keeps a word's own direction inside text of the other direction.
export function isolated(word) {
  return `\u2068${word}\u2069`;
}
