// The page: a text is translated when typing stops, by each model that is on.
import { readAddress, writeAddress } from "./address.js";
import { copyText, sayFor } from "./clipboard.js";
import { Compose } from "./compose.js";
import { fetchEmptyPage } from "./downloads.js";
import { FileJob, onDrop } from "./file_job.js";
import { Latest } from "./latest.js";
import { Result } from "./result.js";
import { ServerError, askPatiently, pause, useToken } from "./server.js";
import { Settings, languagesOf, tagOf } from "./settings.js";
import { element } from "./view/elements.js";
import { Visit } from "./visit.js";

const MOST_CHARACTERS = 5000; // of the texts of a request, times the alternatives: a larger one takes long

const byId = (id) => document.getElementById(id);
const latest = new Latest();
let results = new Map(); // by model, text and settings: a text that stays keeps its panels

const settings = new Settings(translate);
const compose = new Compose(() => latest.stop(), translate);
const visit = new Visit(open);

function fail(error) {
  byId("problem").textContent = error ? error.message : "";
  byId("access").hidden = error?.status !== 401;
}

function open(text) {
  compose.text = text;
  compose.field.focus();
  translate();
}

function translate() {
  const { lines } = compose;
  const { chosen: models, alternatives, beam } = settings;
  if (models.length === 0) return undefined; // they are being loaded; then `begin` translates what was typed
  describe(models);
  writeAddress({ models: models.map(({ name }) => name), text: compose.text, alternatives, beam });
  byId("results").setAttribute("aria-busy", "true");
  return latest.run((signal) => translateAll(lines, models, signal), show, stop);
}

// The rows of results, a row for each line; texts that were translated before are taken over.
async function translateAll(lines, models, signal) {
  const search = { n_best: settings.alternatives, ...settings.search, alignment: true };
  const answers = await Promise.all(models.map((model) => translateWith(model, lines, search, signal)));
  return lines.map((_, line) => answers.map((ofModel) => ofModel[line]));
}

async function translateWith(model, lines, search, signal) {
  const times = new Map();
  const keys = lines.map((line) => {
    times.set(line, (times.get(line) ?? 0) + 1);
    return JSON.stringify([model.name, line, times.get(line), search, settings.probabilities]);
  });
  const missing = lines.filter((_, place) => !results.has(keys[place]));
  const answers = (await askInParts(missing, { model: model.name, ...search }, signal)).values();
  return lines.map((text, place) => {
    const { candidates } = results.has(keys[place]) ? {} : answers.next().value;
    return { key: keys[place], model, text, candidates };
  });
}

// The answers for texts, in requests of as many texts as the server takes, and of few long ones.
async function askInParts(texts, search, signal) {
  const found = [];
  while (found.length < texts.length) {
    const missing = texts.slice(found.length, found.length + settings.limits.texts);
    const body = { text: fitting(missing, MOST_CHARACTERS / search.n_best), ...search };
    found.push(...(await askPatiently("v1/translate", body, signal)).translations);
  }
  return found;
}

// The first texts that have so many characters together, at least one.
function fitting(texts, most) {
  let count = 1;
  let characters = texts[0].length;
  while (count < texts.length && characters + texts[count].length <= most) {
    characters += texts[count].length;
    count += 1;
  }
  return texts.slice(0, count);
}

function show(rows) {
  const { probabilities, search } = settings;
  const made = new Map();
  const resultOf = ({ key, ...parts }) => {
    made.set(key, results.get(key) ?? new Result({ ...parts, probabilities, search, fail }));
    return made.get(key);
  };
  const shown = rows.map((row) => beside(row.map(resultOf)));
  results = made;
  byId("results").replaceChildren(...shown);
  byId("results").removeAttribute("aria-busy");
  byId("legend").hidden = rows.length === 0;
  byId("legend-different").hidden = settings.alternatives === 1 && settings.chosen.length === 1;
  fail(null);
  announce();
}

// The results of a line; the words in which a further model differs from the first one are marked.
function beside([first, ...others]) {
  first.markAgainst(null);
  for (const other of others) other.markAgainst(first.candidates[0].alignment.target);
  return element("div", { class: "beside" }, ...[first, ...others].map((result) => result.element));
}

function announce() {
  const texts = [...results.values()].map(({ candidates }) => candidates[0].text);
  byId("announcement").textContent = texts.join(". ");
  if (texts.length > 0) visit.add({ text: compose.text, translation: texts[0] });
}

function stop(error) {
  byId("results").removeAttribute("aria-busy");
  fail(error);
}

function describe(models) {
  byId("direction").textContent = models.map((model) => [model.name, languagesOf(model)].filter(Boolean).join(": ")).join(", ");
  compose.readIn(tagOf(models[0]?.source));
}

function translateFile(file) {
  const [model] = settings.chosen;
  if (!model) return;
  const job = new FileJob(file, model, settings.search, settings.limits, fail);
  byId("job").hidden = false;
  byId("job").append(job.element);
  fail(null);
  job.run();
}

function listen() {
  const link = byId("copy-link");
  link.addEventListener("click", () => copyText(location.href).then(() => sayFor(link, "Link copied"), fail));
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address has text and settings behind its #
    byId("results").focus();
  });
  byId("choose-file").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", (event) => {
    for (const file of event.target.files) translateFile(file);
    event.target.value = ""; // the same file may be chosen again
  });
  byId("access").addEventListener("submit", (event) => {
    event.preventDefault();
    useToken(byId("token").value.trim());
    begin();
  });
  onDrop(translateFile);
  window.addEventListener("hashchange", begin);
}

// Waits until a model is loaded, then takes models, settings and text from the address.
async function begin() {
  try {
    const address = readAddress();
    const before = compose.text;
    const { models, limits } = await loadedModels();
    settings.set(address);
    settings.offer(models, limits, address.models);
    if (address.text && compose.text === before) compose.text = address.text; // else it was typed meanwhile
    fail(null);
    await translate();
  } catch (error) {
    fail(error);
  }
}

async function loadedModels() {
  for (;;) {
    const { models, limits } = await askPatiently("v1/models");
    const ready = models.filter(({ state }) => state === "ready");
    if (models.every(({ state }) => state === "failed")) throw new ServerError("no model could be loaded: the log of the server says why");
    if (models.every(({ state }) => state !== "loading")) return { models: ready, limits };
    fail({ message: "The server is loading its models \u2026" });
    await pause(500);
  }
}

listen();
begin().then(fetchEmptyPage).catch(() => {}); // a download tries again and names the fault
