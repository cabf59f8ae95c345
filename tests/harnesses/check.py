"""What `.ci/check-harnesses` does once everything is installed. Standard library alone.

A server with a small val release, a model that answers by rule behind an OpenAI-compatible address, both harnesses on
what `secchi export` writes, and their results submitted beside the same answers as JSONL.
"""

import base64
import glob
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

SECCHI, VENVS = sys.argv[1:3]
KEEP = "--keep" in sys.argv
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURES = os.path.join(ROOT, "tests/fixtures/harnesses")
QUESTIONS = 25
FRAMES = 8
# A grey picture of one pixel.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/"
    "wAALCAABAAEBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEI"
    "I0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKz"
    "tLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/AFT/2Q=="
)


def reply(prompt):
    """The answer to a prompt: now right, now wrong, in the shapes that make trouble in files."""
    number = hashlib.sha256(prompt.encode()).digest()[0]
    letter = "ABCD"[number % 4]
    if "(A)" not in prompt:
        return f"A turtle glides over the reef, \"slowly\";\nthe camera follows. ({number})"
    shapes = ["{}", "The answer is ({}).", "={}", "<think>It may be A.\nOr not.</think>\n{}", "{},\t🐠 <b>&amp;</b> _x0041_"]
    return shapes[number // 4 % len(shapes)].format(letter)


class Model(http.server.BaseHTTPRequestHandler):
    """Answers a chat by its last text; notes how many pictures came with it."""

    pictures = []

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        content = request["messages"][-1]["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        self.pictures.append(sum(part["type"] == "image_url" for part in parts))
        text = "".join(part["text"] for part in parts if part["type"] == "text")
        answer = {
            "id": "x", "object": "chat.completion", "created": 0, "model": request["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply(text)}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def run(command, folder, with_errors=False, **settings):
    """Runs a command to its end and gives what it printed; shows it all where it fails."""
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **settings}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}\nended with {done.returncode}")
    return done.stdout + (done.stderr if with_errors else "")


def one(pattern, said):
    """The one file of this pattern; shows what the command said where there is none, since harnesses end well all the same."""
    found = glob.glob(pattern, recursive=True)
    if len(found) != 1:
        sys.exit(f"{said}\n{pattern}: {found}")
    return found[0]


def serve(folder):
    """Starts a server with the first questions of the sample's val; gives it with its address and a team's key."""
    with open(f"{ROOT}/tests/fixtures/sample/val.jsonl", encoding="utf-8") as sample:
        lines = sample.readlines()[:QUESTIONS]
    release = os.path.join(folder, "val-release.jsonl")
    with open(release, "w", encoding="utf-8") as file:
        file.writelines(lines)
    run([SECCHI, "dataset", "import", "--release", "sample", "--split", "val", release], folder)
    made = json.loads(run([SECCHI, "team", "create", "lab", "--name", "Lab", "--json"], folder))
    command = [SECCHI, "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in server.stdout:
        if line.startswith("Secchi serves "):
            return server, line.split()[-1], made["api_key"], [json.loads(line) for line in lines]
    sys.exit("the server did not start")


def score(folder, settings, file, name):
    """Submits a file and waits for its scores."""
    command = [SECCHI, "submit", file, "--split", "val", "--model-name", name, "--access", "closed", "--watch", "--json"]
    submission = json.loads(run(command, folder, **settings).splitlines()[-1])
    print(f"{name}: {submission['state']}, {submission['coverage']}, {len(submission['scores'])} columns")
    for warning in submission["warnings"]:
        print(f"  {warning['code']}: {warning['detail']}")
    return {key: submission[key] for key in ("state", "coverage", "scores")}


def run_lmms_eval(folder, settings, address):
    """Results of lmms-eval's own client and of its own dummy model."""
    python = f"{VENVS}/lmms-eval/bin/python"
    run([SECCHI, "export", "lmms-eval", "--split", "val", "--frames", "frames", "task"], folder, **settings)
    base = [python, "-m", "lmms_eval", "--tasks", "secchi_val", "--include_path", "task", "--log_samples", "--batch_size", "1"]
    offline = {"HF_HOME": os.path.join(folder, "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OPENAI_API_KEY": "none"}
    model = f"model_version=rule,base_url={address}"
    results = []
    for name, kind, arguments in [("rule", "openai", model), ("dummy", "dummy", "response=B")]:
        out = ["--model", kind, "--model_args", arguments, "--output_path", f"lmms-{name}"]
        said = run([*base, *out], folder, with_errors=True, **offline)
        results.append(one(f"{folder}/lmms-{name}/**/*_samples_secchi_val.jsonl", said))
    return results


def run_vlmevalkit(folder, settings, address):
    """Results of VLMEvalKit in each of its formats."""
    python = f"{VENVS}/ms-vlmeval/bin/python"
    run([SECCHI, "export", "vlmevalkit", "--split", "val", "--frames", "frames", "data"], folder, **settings)
    results = []
    for form in ("xlsx", "tsv", "json"):
        command = [python, "data/secchi_vlmevalkit.py", "--data", "Secchi_val", "--model", "rule", "--base-url", address]
        local = {"PRED_FORMAT": form, "LMUData": os.path.join(folder, "lmu"), "HF_HUB_OFFLINE": "1"}
        said = run([*command, "--mode", "infer", "--work-dir", f"vlm-{form}"], folder, with_errors=True, **local)
        results.append(one(f"{folder}/vlm-{form}/**/rule_Secchi_val.{form}", said))
    return results


def main():
    # The harnesses write it into their results, and what is kept of those shall tell no machine's folders.
    folder = os.path.join(tempfile.gettempdir(), "secchi-harnesses")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    server, url, key, questions = serve(folder)
    try:
        check(folder, {"SECCHI_URL": url, "SECCHI_API_KEY": key}, questions)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


def check(folder, settings, questions):
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{model.server_address[1]}/v1"
    for video in {question["id"] for question in questions}:
        os.makedirs(f"{folder}/frames/{video}")
        for place in range(FRAMES):
            with open(f"{folder}/frames/{video}/{place}.jpg", "wb") as file:
                file.write(JPEG)
    plain = {"rule": lambda question: reply(question["prompt"]), "dummy": lambda question: "B"}
    expected = {}
    for name, answer in plain.items():
        path = f"{folder}/{name}.jsonl"
        with open(path, "w", encoding="utf-8") as file:
            for question in questions:
                file.write(json.dumps({"question_id": question["question_id"], "answer": answer(question)}) + "\n")
        expected[name] = score(folder, settings, path, f"{name} as JSONL")
    began = time.monotonic()
    rule, dummy = run_lmms_eval(folder, settings, address)
    tables = run_vlmevalkit(folder, settings, address)
    print(f"the harnesses took {time.monotonic() - began:.0f} s")
    asked = QUESTIONS * (1 + len(tables))
    assert Model.pictures == [FRAMES] * asked, f"{len(Model.pictures)} calls of {asked}: {set(Model.pictures)}"
    faults = []
    for file, name in [(rule, "rule"), (dummy, "dummy"), *((table, "rule") for table in tables)]:
        shown = re.sub(r".*/(lmms|vlm)-(\w+)/.*\.(\w+)", r"\1-\2.\3", file)
        if score(folder, settings, file, shown) != expected[name]:
            faults.append(shown)
        if KEEP:
            os.makedirs(FIXTURES, exist_ok=True)
            shutil.copy(file, os.path.join(FIXTURES, shown))
    if KEEP:
        shutil.copy(f"{folder}/rule.jsonl", f"{FIXTURES}/rule.jsonl")
    if faults:
        sys.exit(f"other scores: {faults}")
    print("all score as the same answers do as JSONL")


main()
