// The words in which one list differs from another: the words outside their longest common subsequence.

export function differing(words, others) {
  const lengths = commonLengths(words, others);
  const different = new Set();
  let other = 0;
  words.forEach((word, place) => {
    while (other < others.length && word !== others[other] && lengths[place][other + 1] === lengths[place][other]) other += 1;
    if (other < others.length && word === others[other]) other += 1;
    else different.add(place);
  });
  return different;
}

// [i][j]: the length of the longest common subsequence of words.slice(i) and others.slice(j).
function commonLengths(words, others) {
  const lengths = Array.from({ length: words.length + 1 }, () => new Array(others.length + 1).fill(0));
  for (let i = words.length - 1; i >= 0; i -= 1) {
    for (let j = others.length - 1; j >= 0; j -= 1) {
      const without = Math.max(lengths[i + 1][j], lengths[i][j + 1]);
      lengths[i][j] = words[i] === others[j] ? lengths[i + 1][j + 1] + 1 : without;
    }
  }
  return lengths;
}
