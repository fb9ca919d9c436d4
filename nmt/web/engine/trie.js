// Strings with values, in a tree of their characters: which of them begin a text?

export class Trie {
  #root = new Map();

  add(text, value) {
    let node = this.#root;
    for (const character of text) {
      if (!node.has(character)) node.set(character, new Map());
      node = node.get(character);
    }
    node.value = value;
  }

  // Calls `found(value, characters)` for each string at a place of a text, which is a list of characters.
  search(characters, place, found) {
    let node = this.#root;
    for (let at = place; at < characters.length; at += 1) {
      node = node.get(characters[at]);
      if (node === undefined) return;
      if (node.value !== undefined) found(node.value, at + 1 - place);
    }
  }

  // The number of characters of the longest string at a place; 0 if there is none.
  longest(characters, place) {
    let most = 0;
    this.search(characters, place, (_, length) => (most = length));
    return most;
  }
}
