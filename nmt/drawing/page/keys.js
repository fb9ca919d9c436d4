// The keys that move between the words of a sentence.

export function moveByKey(sentence, event) {
  const word = event.target.closest(".word");
  if (!word || event.altKey || event.ctrlKey || event.metaKey) return;
  const next = neighbours(sentence, word)[event.key];
  if (event.key === "Escape") {
    sentence.hovered = null;
    word.blur();
  } else if (next) {
    event.preventDefault(); // the browser would scroll
    stopAt(sentence, next);
    next.focus();
  }
}

// A row is one stop of the Tab key: makes this word the one that it reaches.
export function stopAt(sentence, word) {
  for (const other of sentence.rowOf(word.position.side).words) other.tabIndex = other === word ? 0 : -1;
}

function neighbours(sentence, word) {
  const { side, index } = word.position;
  const words = sentence.shownWords(side);
  const rightward = getComputedStyle(sentence.rowOf(side).row).direction === "rtl" ? -1 : 1;
  return {
    ArrowLeft: words[index - rightward],
    ArrowRight: words[index + rightward],
    Home: words[0],
    End: words.at(-1),
    ArrowUp: side === "source" ? undefined : strongest(sentence, word),
    ArrowDown: side === "source" ? strongest(sentence, word) : undefined,
  };
}

// The word on the other side with the largest value; from the source, in the translation visited last.
function strongest(sentence, word) {
  const { side, index } = word.position;
  const which = side === "source" ? (sentence.visited ?? 0) : side;
  const other = side === "source" ? sentence.rowOf(which).words : sentence.rows[0].words;
  const strength = other.map((candidate) => {
    const [s, t] = side === "source" ? [index, candidate.position.index] : [candidate.position.index, index];
    return sentence.value(which, s, t) ?? -Infinity;
  });
  return other[strength.indexOf(Math.max(...strength))];
}
