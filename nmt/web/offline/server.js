// Stands in for the server: requests go to the model in the worker. See the page's own server.js for the same functions.
import { ServerError, isAborted, pause } from "./requests.js";

export { ServerError, isAborted, pause };

const STOPPED = "the model's thread has stopped: reload the page";

const worker = new Worker("worker.js", { type: "module" });
const waiting = new Map();
let last = 0;
let stopped = false;

document.getElementById("unstarted").remove();
document.getElementById("loading").hidden = false;

worker.onerror = () => {
  stopped = true;
  for (const id of waiting.keys()) settle({ id, error: STOPPED });
};
worker.onmessage = ({ data }) => {
  if (data.total !== undefined) showProgress(data);
  else settle(data);
};

function settle({ id, answer, error, status }) {
  document.getElementById("loading").hidden = true;
  const { resolve, reject } = waiting.get(id) ?? {};
  waiting.delete(id);
  if (error === undefined) resolve?.(answer);
  else reject?.(new ServerError(error, status));
}

export function ask(path, body = null, signal = undefined) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    if (stopped) throw new ServerError(STOPPED);
    const id = (last += 1);
    waiting.set(id, { resolve, reject });
    signal?.addEventListener("abort", () => {
      if (!waiting.delete(id)) return; // it has been answered
      worker.postMessage({ cancel: id });
      reject(new DOMException("aborted", "AbortError"));
    });
    worker.postMessage({ id, path, body });
  });
}

export const askPatiently = ask;

export function useToken() {} // a folder asks for none

// The line below the text: it stays until the model has answered for the first time.
function showProgress({ done, total }) {
  const place = document.getElementById("loading");
  const mebibytes = (bytes) => (bytes / 2 ** 20).toFixed(1);
  const share = `Loading the model: ${mebibytes(done)} of ${mebibytes(total)} MiB`;
  place.querySelector("progress").value = done / total;
  place.querySelector("span").textContent = done < total ? share : "Starting the model \u2026";
}
