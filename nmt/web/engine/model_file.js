// The file of a SentencePiece model: its pieces and its settings (sentencepiece_model.proto).
import { readMessage } from "./protobuf.js";

export const NORMAL = 1;
export const UNKNOWN = 2;
export const CONTROL = 3;
export const USER_DEFINED = 4;
export const UNUSED = 5;
export const BYTE = 6;

export const KINDS = ["", "unigram", "bpe", "word", "char"];

export function readModel(bytes) {
  const model = { pieces: [], trainer: {}, normalizer: {} };
  readMessage(bytes, (number, value) => {
    if (number === 1) model.pieces.push(readPiece(value));
    else if (number === 2) model.trainer = readTrainer(value);
    else if (number === 3) model.normalizer = readNormalizer(value);
  });
  return model;
}

function readPiece(bytes) {
  const piece = { text: "", score: 0, type: NORMAL };
  readMessage(bytes, (number, value) => {
    if (number === 1) piece.text = textOf(value);
    else if (number === 2) piece.score = value;
    else if (number === 3) piece.type = value;
  });
  return piece;
}

function readTrainer(bytes) {
  const trainer = { kind: "unigram", unknownSurface: " \u2047 ", byteFallback: false };
  readMessage(bytes, (number, value) => {
    if (number === 3) trainer.kind = KINDS[value];
    else if (number === 35) trainer.byteFallback = value !== 0;
    else if (number === 44) trainer.unknownSurface = textOf(value);
  });
  return trainer;
}

function readNormalizer(bytes) {
  const normalizer = { rules: new Uint8Array(), addsSpace: true, removesSpaces: true, showsSpaces: true };
  readMessage(bytes, (number, value) => {
    if (number === 2) normalizer.rules = value;
    else if (number === 3) normalizer.addsSpace = value !== 0;
    else if (number === 4) normalizer.removesSpaces = value !== 0;
    else if (number === 5) normalizer.showsSpaces = value !== 0;
  });
  return normalizer;
}

function textOf(bytes) {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
