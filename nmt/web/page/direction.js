// The reading direction of words, from most of their letters.

export function directionOf(words) {
  const letters = words.join("");
  const leftward = letters.match(/[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/gu);
  const all = letters.match(/\p{L}/gu);
  return (leftward?.length ?? 0) > (all?.length ?? 0) / 2 ? "rtl" : "ltr";
}
