// The table of a translation: every value, in words down and across.
import { END, SMALLEST_SHOWN, element, number } from "./elements.js";
import { showing } from "./views.js";

export function tableOf(sentence, which, name) {
  const details = element("details", {}, element("summary", {}, "table"));
  const scroll = element("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `table, ${name}` });
  details.append(scroll);
  const fill = () => details.open && scroll.replaceChildren(cells(sentence, which));
  sentence.tables.push(fill);
  details.addEventListener("toggle", fill); // a table is made when it is first opened
  return details;
}

function cells(sentence, which) {
  const { source, languages } = sentence;
  const columns = showing.view === "attention" ? [...source, END] : source;
  const heads = columns.map((word) => element("th", { scope: "col", lang: languages[0] }, element("bdi", {}, word)));
  const body = sentence.translations[which].alignment.target.map((word, t) => {
    const row = element("tr", {}, element("th", { scope: "row", lang: languages[1] }, element("bdi", {}, word)));
    columns.forEach((_, s) => row.append(cell(sentence, which, s, t)));
    return row;
  });
  const head = element("thead", {}, element("tr", {}, element("td"), ...heads));
  return element("table", { dir: sentence.direction }, head, element("tbody", {}, ...body));
}

function cell(sentence, which, s, t) {
  const made = element("td");
  const value = sentence.value(which, s, t);
  if (value !== null && Math.abs(value) >= SMALLEST_SHOWN) made.textContent = number(value);
  sentence.mark(made, which, s, t, value);
  return made;
}
