// Stands in for the server: requests go to the model in the worker. See the page's own server.js for the same functions.
import { ServerError, isAborted, pause } from "./requests.js";

export { ServerError, isAborted, pause };

const worker = new Worker("worker.js", { type: "module" });
const waiting = new Map();
let last = 0;

document.getElementById("unstarted").remove();
document.getElementById("loading").hidden = false;

worker.onerror = () => fail("the model's thread has stopped: reload the page");
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

function fail(error) {
  for (const id of waiting.keys()) settle({ id, error });
}

export function ask(path, body = null, signal = undefined) {
  return new Promise((resolve, reject) => {
    const id = (last += 1);
    waiting.set(id, { resolve, reject });
    signal?.addEventListener("abort", () => {
      worker.postMessage({ cancel: id });
      waiting.delete(id);
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
