// Fetches the files of the model and of ONNX Runtime from the folder of the page, each once, and makes a translator.
import { Network } from "./engine/network.js";
import { Translator } from "./engine/translator.js";
import { InferenceSession, Tensor, env } from "./runtime/onnxruntime.js";

// `progress` is called with the bytes that have come and their total.
export async function loadTranslator(progress) {
  const settings = await (await fetched("page.json")).json();
  const sizes = Object.values(settings.files).reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  const count = (bytes) => progress((done += bytes), sizes);
  const names = Object.keys(settings.files);
  const contents = await Promise.all(names.map((name) => content(name, settings.files[name], count)));
  const files = Object.fromEntries(names.map((name, place) => [name, contents[place]]));
  env.wasm.numThreads = 1; // more threads need headers that a plain file server does not send
  env.wasm.wasmBinary = files["runtime/onnxruntime.wasm"];
  const graphs = { encoder: files["encoder.onnx"], step: files["step.onnx"] };
  const network = await Network.load({ InferenceSession, Tensor }, graphs, settings.tensors);
  return new Translator(settings, network, settings.vocabularies.map((name) => files[name]));
}

async function fetched(name) {
  let answer;
  try {
    answer = await fetch(name, { cache: "no-cache" }); // a folder that was exported again has files of the same size
  } catch {
    throw new Error(`${name} cannot be fetched: is the file server still running?`);
  }
  if (!answer.ok) throw new Error(`${name}: the file server answered ${answer.status} ${answer.statusText}`.trim());
  return answer;
}

async function content(name, { bytes: size, sha256 }, count) {
  const answer = await fetched(name);
  const bytes = new Uint8Array(size);
  let at = 0;
  for await (const part of partsOf(answer.body)) {
    if (at + part.length > size) break;
    bytes.set(part, at);
    at += part.length;
    count(part.length);
  }
  if (at !== size) throw new Error(`${name} has another size than when it was exported: copy the folder again`);
  if (sha256 && globalThis.crypto?.subtle && (await sumOf(bytes)) !== sha256) {
    throw new Error(`${name} is damaged: copy the folder again`);
  }
  return bytes;
}

// The SHA-256 in hexadecimal. Browsers compute it for pages that come by HTTPS or from this machine.
async function sumOf(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function* partsOf(stream) {
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}
