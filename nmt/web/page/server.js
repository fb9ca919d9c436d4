// Requests to the server. An error is one line that says what happened.

import { ServerError, isAborted, pause } from "./requests.js";

export { ServerError, isAborted, pause };

const TOKEN = "nmt.token";

// The server's answer to a request with a JSON body, or to a GET without one.
export async function ask(path, body = null, signal = undefined) {
  const options = { signal, headers: headers(body) };
  if (body !== null) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  const answer = await reach(path, options);
  const values = await answer.json().catch((error) => {
    if (isAborted(error)) throw error;
    return null;
  });
  if (!answer.ok) {
    const message = values?.error ?? `the server answered ${answer.status} ${answer.statusText}`.trim();
    throw new ServerError(message, answer.status, Number(answer.headers.get("Retry-After")) || 0);
  }
  if (values === null) throw new ServerError("the server's answer is not JSON: reload the page");
  return values;
}

// The same, and again after the pause that a busy server asks for.
export async function askPatiently(path, body, signal) {
  for (;;) {
    try {
      return await ask(path, body, signal);
    } catch (error) {
      if (![429, 503].includes(error.status) || error.retryAfter === 0) throw error;
      await pause(1000 * error.retryAfter, signal);
    }
  }
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (isAborted(error)) throw error;
    throw new ServerError("the server does not answer: is it still running?");
  }
}

function headers(body) {
  const token = storedToken();
  return {
    ...(body === null ? {} : { "Content-Type": "application/json" }),
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
  };
}

// The token of a server that asks for one; the browser forgets it with the tab.
export function useToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

function storedToken() {
  try {
    return sessionStorage.getItem(TOKEN);
  } catch {
    return null; // storage is off
  }
}
