// The page's address carries models, settings and text in its fragment, which no server sees.

export function readAddress() {
  const values = new URLSearchParams(location.hash.slice(1));
  return {
    models: values.getAll("model"),
    text: values.get("text") ?? "",
    alternatives: Number(values.get("alternatives")) || 1,
    beam: Number(values.get("beam")) || null,
  };
}

export function writeAddress({ models, text, alternatives, beam }) {
  const values = new URLSearchParams();
  for (const name of models) values.append("model", name);
  if (alternatives > 1) values.set("alternatives", alternatives);
  if (beam) values.set("beam", beam);
  if (text) values.set("text", text);
  history.replaceState(null, "", `#${values}`);
}
