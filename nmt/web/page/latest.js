// Runs of one task: a new run aborts the one before it, and only the newest run may show its result.
import { isAborted } from "./server.js";

export class Latest {
  #controller = null;

  // Calls `task(signal)`, then `show(result)`, or `fail(error)`, unless a newer run has begun or `stop` was called.
  async run(task, show, fail) {
    this.stop();
    const controller = (this.#controller = new AbortController());
    const current = () => this.#controller === controller;
    try {
      const result = await task(controller.signal);
      if (current()) show(result);
    } catch (error) {
      if (current() && !isAborted(error)) fail(error);
    }
  }

  stop() {
    this.#controller?.abort();
    this.#controller = null;
  }
}

// Calls `act` when calls of `soon` have stopped for some milliseconds; `cancel` takes back a call that is due.
export class Quiet {
  #timer;

  constructor(milliseconds, act) {
    this.soon = () => {
      this.cancel();
      this.#timer = setTimeout(act, milliseconds);
    };
  }

  cancel() {
    clearTimeout(this.#timer);
  }
}
