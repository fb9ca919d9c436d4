// The model in a thread of its own: the page sends requests as to a server, and stays responsive.
import { loadTranslator } from "./model.js";

const wake = new MessageChannel();
const cancelled = new Set();
let loading = null;

// Lets messages in, such as the end of a request that nobody waits for.
function breathe() {
  return new Promise((resolve) => {
    wake.port1.onmessage = resolve;
    wake.port2.postMessage(null);
  });
}

const ROUTES = {
  async "v1/models"(translator) {
    const { model, limits } = translator.settings;
    return { models: [model], limits };
  },

  async "v1/translate"(translator, body, goesOn) {
    const texts = [body.text].flat();
    const targets = body.target === undefined || body.target === null ? null : [body.target].flat();
    const translations = [];
    for (const [place, text] of texts.entries()) {
      if (targets) translations.push({ source: text, candidates: [await translator.align(text, targets[place])] });
      else translations.push(await translator.translate(text, body, goesOn));
      await goesOn();
    }
    return { translations };
  },

  async "v1/explain"(translator, body, goesOn) {
    return { falls: await translator.explain(body.text, body.target, goesOn) };
  },
};

// The translator; after a failure the next request loads it again.
async function load() {
  try {
    return await loadTranslator((done, total) => self.postMessage({ done, total }));
  } catch (error) {
    loading = null;
    throw error;
  }
}

async function answer({ id, path, body }) {
  loading ??= load();
  const translator = await loading;
  const goesOn = async () => {
    await breathe();
    if (cancelled.has(id)) throw new DOMException("aborted", "AbortError");
  };
  await goesOn();
  return ROUTES[path](translator, body, goesOn);
}

let last = Promise.resolve();

self.onmessage = ({ data }) => {
  if (data.cancel !== undefined) {
    cancelled.add(data.cancel);
    return;
  }
  last = last.then(async () => {
    try {
      self.postMessage({ id: data.id, answer: await answer(data) });
    } catch (error) {
      const { message = String(error), status = 500 } = error ?? {}; // WebAssembly also throws numbers
      self.postMessage({ id: data.id, error: message, status });
    }
    cancelled.delete(data.id);
  });
};
