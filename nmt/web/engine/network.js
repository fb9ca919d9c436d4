// An exported network: the two graphs of an ONNX export, in ONNX Runtime.
import { BOS, EOS, PAD, logSumExp } from "./search.js";

const NEXT = "next_"; // in front of the names of a state that a step gives

export class Network {
  // `ort` is ONNX Runtime, `files` has both graphs as bytes, and `tensors` names the state and the encoded source.
  static async load(ort, files, tensors) {
    const network = new Network();
    Object.assign(network, { ort, tensors });
    network.encoder = await ort.InferenceSession.create(files.encoder);
    network.stepper = await ort.InferenceSession.create(files.step);
    return network;
  }

  // The decoder of some sources, lists of ids without the end of sentence, one row for each.
  async decoder(sources) {
    const positions = Math.max(...sources.map((ids) => ids.length)) + 1;
    const padded = new Int32Array(sources.length * positions).fill(PAD);
    sources.forEach((ids, row) => padded.set([...ids, EOS], row * positions));
    const values = await this.encoder.run({ source: this.tensor("int32", padded, [sources.length, positions]) });
    return new Decoder(this, values);
  }

  // Log-probabilities of the pieces of a target and of its end, for each of some sources: { costs, weights } of each step.
  async score(sources, target) {
    const decoder = await this.decoder(sources);
    const rows = sources.map((_, row) => row);
    const found = sources.map(() => ({ costs: [], weights: [] }));
    for (const [time, piece] of [...target, EOS].entries()) {
      const before = time === 0 ? BOS : target[time - 1];
      const steps = await decoder.step(rows.map(() => before), rows);
      steps.forEach(({ logits, weights }, row) => {
        found[row].costs.push(Math.fround(logits[piece] - logSumExp(logits)));
        found[row].weights.push(weights.subarray(0, sources[row].length + 1));
      });
    }
    return found;
  }

  tensor(type, data, shape) {
    return new this.ort.Tensor(type, data, shape);
  }
}

class Decoder {
  constructor(network, values) {
    const { state, encoded } = network.tensors;
    const named = (names) => Object.fromEntries(names.map((name) => [name, values[name]]));
    Object.assign(this, { network, state: named(state), source: named(encoded) });
    this.repeated = new Map(); // the encoded source by the rows that read it
    this.sources = [...Array(values[encoded[0]].dims[0]).keys()]; // the source of each row
  }

  // See `search`.
  async step(pieces, rows) {
    const { network } = this;
    this.sources = rows.map((row) => this.sources[row]);
    const inputs = {
      pieces: network.tensor("int32", Int32Array.from(pieces), [pieces.length]),
      among: network.tensor("int32", new Int32Array(), [0]),
      ...this.#rowsOf(this.state, rows),
      ...this.#encoded(),
    };
    const values = await network.stepper.run(inputs);
    this.state = Object.fromEntries(network.tensors.state.map((name) => [name, values[NEXT + name]]));
    const { logits, weights } = values;
    return pieces.map((_, row) => ({ logits: rowOf(logits, row), weights: rowOf(weights, row) }));
  }

  #encoded() {
    const key = this.sources.join();
    if (!this.repeated.has(key)) this.repeated.set(key, this.#rowsOf(this.source, this.sources));
    return this.repeated.get(key);
  }

  #rowsOf(tensors, rows) {
    return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, this.#rows(tensor, rows)]));
  }

  #rows(tensor, rows) {
    const [count, ...rest] = tensor.dims;
    if (count === rows.length && rows.every((row, at) => row === at)) return tensor;
    const width = tensor.data.length / count;
    const data = new tensor.data.constructor(rows.length * width);
    rows.forEach((row, at) => data.set(tensor.data.subarray(row * width, (row + 1) * width), at * width));
    return this.network.tensor(tensor.type, data, [rows.length, ...rest]);
  }
}

function rowOf(tensor, row) {
  const width = tensor.dims[1];
  return tensor.data.subarray(row * width, (row + 1) * width);
}
