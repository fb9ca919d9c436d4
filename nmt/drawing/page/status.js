// The status line: the word that is pointed at, and the words that light up.
import { SMALLEST_SHOWN, isolated, number, percent } from "./elements.js";

const MOST_LISTED = 8; // words in the status line

// The status line belongs to the sentence that wrote it last: only that one may clear it.
let statusOwner = null;

export function setStatus(text, owner) {
  if (text === "" && statusOwner !== owner) return;
  statusOwner = owner;
  document.getElementById("status").textContent = text;
}

export function listed(found) {
  const named = found.filter(({ value }) => value !== null && Math.abs(value) >= SMALLEST_SHOWN);
  named.sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
  const shown = named.slice(0, MOST_LISTED).map(({ text, value, link }) => `${isolated(text)} ${number(value)}${linked(link)}`);
  return shown.length > 0 ? shown.join(", ") + (named.length > MOST_LISTED ? ", \u2026" : "") : "nothing";
}

function linked(share) {
  if (share === undefined) return "";
  return share === null ? " (link)" : ` (link, share ${percent(share)})`;
}
