"""The worker of a static folder and what stands in for the server, over a translator without a network."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from node_process import NODE, modules, run_node

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js: apt-get install nodejs")

FAKES = {
    "runtime/onnxruntime.js": "export const env = { wasm: {} }, InferenceSession = null, Tensor = null;",
    "engine/network.js": "export class Network { static load() {} }",
    "engine/translator.js": """
export class Translator {
    settings = { model: {}, limits: {} };
    async translate(text, body, pause) {
        for (const sentence of text.split(". ")) {
            globalThis.read.push(sentence);
            globalThis.heard?.(sentence);
            if (sentence === "number") throw 5;
            await pause();
        }
        return { candidates: [] };
    }
}""",
}
IMPORTS = """
globalThis.read = [];
globalThis.fetched = [];
globalThis.fetch = async (name, options) => {
    fetched.push([name, options?.cache]);
    const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // of abc
    const page = JSON.stringify({ files: { "encoder.onnx": { bytes: 3, sha256 } }, vocabularies: [] });
    return new Response(name === "page.json" ? page : (globalThis.network ?? "abc"));
};
globalThis.document = { getElementById: () => ({ remove() {}, querySelector: () => ({}) }) };
globalThis.self = { postMessage: (data) => page.onmessage({ data }) };
globalThis.MessageChannel = class {
    port1 = {};
    port2 = { postMessage: () => setImmediate(() => this.port1.onmessage()) };
};
globalThis.sent = [];
globalThis.Worker = class {
    constructor() { globalThis.page = this; }
    postMessage(data) { sent.push(data); queueMicrotask(() => self.onmessage({ data })); }
};
await import("./offline/worker.js");
const { ask } = await import("./offline/server.js");
const settled = (asked) => asked.then(() => "answered", (error) => `${error.name}: ${error.message}`);
const translated = (text, signal) => settled(ask("v1/translate", { text }, signal));
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = modules(tmp_path_factory.mktemp("folder"))
    for package, names in (
        ("nmt.web.offline", ("worker.js", "server.js", "model.js")),
        ("nmt.web.page", ("requests.js",)),
    ):
        for name in names:
            (place / "offline").mkdir(exist_ok=True)
            (place / "offline" / name).write_bytes((resources.files(package) / name).read_bytes())
    for name, content in FAKES.items():
        path = place / "offline" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    return place


SCRIPT = """
const found = { answered: await translated("one. two") };
found.number = await translated("number");
const [controller, early] = [new AbortController(), new AbortController()];
globalThis.heard = (sentence) => sentence === "three" && controller.abort();
found.aborted = await translated("three. four. five", controller.signal);
found.next = await translated("six");
const messages = sent.length;
controller.abort();
early.abort();
found.early = await translated("seven", early.signal);
found.later = sent.length - messages;
found.read = [...read];
const waiting = translated("eight");
page.onmessage = () => {};
page.onerror();
found.stopped = [await waiting, await translated("nine")];
return { ...found, fetched };
"""


def test_requests_are_answered_cancelled_and_refused(folder: Path) -> None:
    found: dict[str, Any] = run_node(folder, IMPORTS, SCRIPT, None, seconds=60)
    assert (found["answered"], found["next"]) == ("answered", "answered")
    assert found["number"] == "Error: 5", "what is thrown need not be an error"
    assert found["aborted"].startswith("AbortError")
    assert found["read"] == ["one", "two", "number", "three", "six"], (
        "a text that nobody waits for is left at a sentence"
    )
    assert found["early"].startswith("AbortError") and found["later"] == 0
    assert found["stopped"] == ["Error: the model's thread has stopped: reload the page"] * 2
    assert found["fetched"] == [[name, "no-cache"] for name in ("page.json", "encoder.onnx")]


@pytest.mark.parametrize(
    ("network", "answer"),
    [
        ("abb", "Error: encoder.onnx is damaged: copy the folder again"),
        ("ab", "Error: encoder.onnx has another size than when it was exported: copy the folder again"),
        ("abc", "answered"),
    ],
)
def test_a_damaged_file_of_the_folder_is_refused(network: str, answer: str, folder: Path) -> None:
    script = 'globalThis.network = input; return await translated("one");'
    assert run_node(folder, IMPORTS, script, network, seconds=60) == answer


def test_the_request_after_a_failed_load_tries_again(folder: Path) -> None:
    script = """globalThis.network = "abb";
const first = await translated("one");
globalThis.network = "abc";
return [first, await translated("one")];"""
    assert run_node(folder, IMPORTS, script, None, seconds=60) == [
        "Error: encoder.onnx is damaged: copy the folder again", "answered",
    ]  # fmt: skip
