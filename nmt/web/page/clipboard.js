// Copies text. Browsers offer their clipboard to local and encrypted pages alone; others copy a selection.

export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (!copied) throw new Error("the browser does not let the page copy: select the text and copy it");
  return undefined;
}

const SHOWN = 2000; // milliseconds

// Shows a text on a button for a while.
export function sayFor(button, text) {
  button.dataset.name ??= button.textContent;
  button.textContent = text;
  setTimeout(() => (button.textContent = button.dataset.name), SHOWN);
}
