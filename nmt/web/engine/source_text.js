// The source text as the model reads it: in the form of its training text, and sentence by sentence.
import { WHITE_SPACE, segmenterOf, spacedWords } from "./words.js";

const MOST_WORDS = 2000; // of a line that is split
const ENDS_A_WORD = /[\p{L}\p{M}\p{N}_)\]"'’”»]$/u;

export class SourceText {
  // `reading` says how the training text differs from other text; `words` cuts the source language into words.
  // `unspaced` says whether its words are written without spaces.
  constructor(tokenizer, reading, language, unspaced) {
    Object.assign(this, { tokenizer, reading, separates: new Set(reading.separates), language, unspaced });
  }

  // The pieces of a text, with the word of each piece in the text as it was given.
  segment(text) {
    const words = spacedWords(text);
    const converted = words.map((word, place) => this.#converted(word, place === words.length - 1));
    if (converted.every((parts, place) => parts.length === 1 && parts[0] === words[place])) return this.tokenizer.segment(text);
    const found = this.tokenizer.segment(converted.flat().join(" "));
    const origins = converted.flatMap((parts, place) => parts.map(() => place));
    return { ...found, text, words, wordOfPiece: found.wordOfPiece.map((word) => origins[word]) };
  }

  // The words that the model reads for a word.
  #converted(given, isLast) {
    const { lowers, dotless } = this.reading;
    const cased = lowers && dotless ? given.replaceAll("İ", "i").replaceAll("I", "ı") : given;
    const word = lowers ? cased.toLowerCase() : cased;
    const mark = [...word].at(-1);
    const rest = word.slice(0, word.length - mark.length);
    if (!this.separates.has(mark) || !ENDS_A_WORD.test(rest)) return [word];
    if (mark === "." && (!isLast || rest.includes(".") || [...rest].length < 2)) return [word];
    return [rest, mark];
  }

  // The sentences of a text; the text alone if its training text has lines of so many sentences.
  sentences(text) {
    const { mostSentences } = this.reading;
    if (mostSentences === null) return [text];
    const parts = splitSentences(text, this.language, this.unspaced);
    return parts.length <= mostSentences || this.tokenizer.words(text).length > MOST_WORDS ? [text] : parts;
  }
}

// The sentences of a line by the browser's rules, each with the white space behind it. An end behind fewer than two
// letters or behind an abbreviation is no end, and none before a lower-case letter in a line that begins with a capital.
// Without white space an end is within an address or a name, unless the text has no spaces between words.
export function splitSentences(line, language, unspaced = false) {
  const segments = segmenterOf(language, "sentence").segment(line.replace(LINE_ENDS, " "));
  const capital = /^\P{L}*\p{Lu}/u.test(line);
  const found = [];
  let open = false;
  for (const { index, segment: read } of segments) {
    const segment = line.slice(index, index + read.length);
    const continues = open || (capital && /^\P{L}*\p{Ll}/u.test(segment)) || !isCut(found.at(-1) ?? "", segment, unspaced);
    if (found.length > 0 && continues) found[found.length - 1] += segment;
    else found.push(segment);
    open = isOpen(found.at(-1));
  }
  if (found.length > 1 && open) found.push(found.splice(-2).join(""));
  return found;
}

const LINE_ENDS = /[\x85\u2028\u2029]/gu; // white space in a line of text, which the browser takes for its end
const SPACE_AT_CUT = new RegExp(`${WHITE_SPACE}\0|\0${WHITE_SPACE}`, "u");

function isCut(before, after, unspaced) {
  const around = `${[...before].at(-1) ?? ""}\0${[...after][0] ?? ""}`;
  return SPACE_AT_CUT.test(around) || (unspaced && /[^\0-\x7f]/u.test(around));
}

const INITIAL = new RegExp(`(?:^|[\\s.])[\\p{L}\\p{N}]\\.${WHITE_SPACE}*$`, "u");

// Browsers know no abbreviations. These stand before a name or a number in languages of Europe, not at an end.
const ABBREVIATIONS =
  "Mr|Mrs|Ms|Dr|Prof|St|Mt|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Sen|Gov|Mme|Mlle|Mgr|Hr|Sra|Dra|Dott|Sig|Ing|Nr|Fig|Vol|vs|cf|vgl|bzw|ca|approx";
const ABBREVIATED = new RegExp(`(?:^|[^\\p{L}\\p{N}])(?:${ABBREVIATIONS})\\.${WHITE_SPACE}*$`, "u");

// Whether text ends with an initial such as M. or an abbreviation, or has fewer than two letters.
function isOpen(text) {
  return (text.match(/\p{L}/gu) ?? []).length < 2 || INITIAL.test(text) || ABBREVIATED.test(text);
}
