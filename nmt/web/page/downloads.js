// Downloads of a result: PNG and SVG of its heat map, its data as JSON, and a page that works by itself.

const SCALE = 2; // pixels of the PNG for each unit of the drawing

export function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function svgText(drawing) {
  const copy = drawing.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

export async function pngOf(drawing) {
  const address = URL.createObjectURL(new Blob([svgText(drawing)], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = SCALE * image.width;
  canvas.height = SCALE * image.height;
  const pen = canvas.getContext("2d");
  pen.scale(SCALE, SCALE);
  pen.drawImage(image, 0, 0);
  URL.revokeObjectURL(address);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

let empty = null;

// Fetches the empty page of sentences once. The page asks early, so that it can save without a network later.
export function fetchEmptyPage() {
  empty ??= fetched("view/empty.html").catch((error) => {
    empty = null; // another attempt may succeed
    throw error;
  });
  return empty;
}

async function fetched(name) {
  let answer;
  try {
    answer = await fetch(name);
  } catch {
    throw new Error(`${name} cannot be fetched: is the server still running?`);
  }
  if (!answer.ok) throw new Error(`${name}: the server answered ${answer.status} ${answer.statusText}`.trim());
  return answer.text();
}

// The page of sentences with its data filled in. Its policy names the digests of script and style, and data are neither.
export async function pageOf(sentences) {
  const page = await fetchEmptyPage();
  const data = `<script type="application/json" id="data">${escaped(JSON.stringify({ sentences }))}</script>`;
  return page.replace(/<script type="application\/json" id="data">.*?<\/script>/s, () => data);
}

// In JSON these characters occur only inside strings; to an HTML parser they have a meaning.
function escaped(data) {
  return data.replace(/[<>&\u2028\u2029]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
