"""A language server that lies on purpose, for tests. It knows the truth of small projects by their words: a word means what
`other.*` declares where it stands in that file or after `other.`, and what any other file declares everywhere else.

Usage: liar.py MODE SECONDS (for `heavy`, MiB more; for `dies` and `deaf`, how many requests for references it answers)"""

import json
import os
import re
import sys
import time

MODE, SECONDS = sys.argv[1], float(sys.argv[2])
BEGAN = time.monotonic()
BALLAST = b"x" * ((48 + (int(SECONDS) if MODE == "heavy" else 0)) << 20) if MODE in ("heavy", "slow") else None
OPEN = {}
ROOT = os.getcwd()
COUNT = {"textDocument/references": 0}


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def receive():
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if line == b"\r\n":
            return json.loads(sys.stdin.buffer.read(length))
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)


def uri(path):
    return "file://" + path


def text(path):
    if path in OPEN:
        return OPEN[path]
    with open(path, encoding="utf-8-sig") as file:
        return file.read()


def files():
    for folder, _, names in os.walk(ROOT):
        for name in sorted(names):
            if name.endswith((".py", ".go")):
                yield os.path.join(folder, name)


def word_at(path, position):
    line = text(path).split("\n")[position["line"]]
    for match in re.finditer(r"\w+", line):
        if match.start() <= position["character"] < match.end():
            return match.group(), match.start()
    return None, 0


def owner(path, line, start):
    is_other = os.path.basename(path).startswith("other.")
    return "other" if is_other or line[:start].endswith("other.") else "own"


def occurrences(word):
    for path in files():
        for number, line in enumerate(text(path).split("\n")):
            for match in re.finditer(r"\b%s\b" % word, line):
                defines = line[: match.start()].endswith(("def ", "func "))
                yield path, number, match.start(), match.end(), owner(path, line, match.start()), defines


def location(path, number, start, end):
    if MODE == "old":
        number += 1
    if MODE == "wrong":
        path, number, start, end = os.path.join(ROOT, "noise.py"), 0, 0, 1
    place = {"line": number, "character": start}, {"line": number, "character": end}
    return {"uri": uri(path), "range": {"start": place[0], "end": place[1]}}


def answer(method, params):
    path = params["textDocument"]["uri"][len("file://") :]
    if MODE in ("empty", "early", "slow") and time.monotonic() - BEGAN < SECONDS:
        return []
    word, start = word_at(path, params["position"])
    if word is None or MODE == "withheld" and os.path.basename(path).startswith("passed."):
        return []
    line = text(path).split("\n")[params["position"]["line"]]
    whose = owner(path, line, start)
    places = []
    for path, number, start, end, owned, defines in occurrences(word):
        is_wanted = defines if method.endswith("definition") else not defines
        if MODE == "withheld" and os.path.basename(path).startswith("passed."):
            continue
        if owned == whose and is_wanted:
            places.append(location(path, number, start, end))
    return places


def load():
    value = {"kind": "begin", "title": "Setting up workspace"}
    send({"method": "$/progress", "params": {"token": 1, "value": value}})
    send({"method": "$/progress", "params": {"token": 1, "value": {"kind": "end"}}})


while True:
    message = receive()
    method, params = message.get("method"), message.get("params")
    if method == "initialize":
        send({"id": message["id"], "result": {"capabilities": {}, "serverInfo": {"name": "liar", "version": "0.1"}}})
    elif method == "initialized" and MODE == "early":
        load()
    elif method == "textDocument/didOpen":
        if MODE == "lazy" and not OPEN:
            load()
        OPEN[params["textDocument"]["uri"][len("file://") :]] = params["textDocument"]["text"]
    elif method == "textDocument/didChange":
        OPEN[params["textDocument"]["uri"][len("file://") :]] = params["contentChanges"][0]["text"]
    elif method == "textDocument/didClose":
        OPEN.pop(params["textDocument"]["uri"][len("file://") :], None)
    elif method == "exit":
        sys.exit(0)
    elif "id" in message and method in ("textDocument/references", "textDocument/definition"):
        COUNT[method] = COUNT.get(method, 0) + 1
        if MODE == "silent" and method == "textDocument/definition":
            continue
        # The first question is the canary's.
        if MODE == "dies" and COUNT["textDocument/references"] > SECONDS:
            sys.stdout.buffer.write(b'Content-Length: 4000\r\n\r\n{"id"')
            sys.stdout.buffer.flush()
            sys.exit(7)
        if MODE == "deaf" and COUNT["textDocument/references"] > SECONDS:
            time.sleep(3600)
        send({"id": message["id"], "result": answer(method, params)})
    elif "id" in message and method is not None:
        send({"id": message["id"], "result": None})
