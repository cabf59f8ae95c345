import json
import os
import time

import requests

api = os.environ["SECCHI_URL"] + "/api/v1"
session = requests.Session()
session.headers["Authorization"] = "Bearer " + os.environ["SECCHI_API_KEY"]


def answer(question):
    return "A"  # your model's reply to question["prompt"] about the video question["id"]


response = session.get(f"{api}/splits/val/questions", headers={"Accept": "application/x-ndjson"})
response.raise_for_status()
predictions = []
for line in response.content.splitlines():
    question = json.loads(line)
    predictions.append({"question_id": question["question_id"], "answer": answer(question)})

metadata = {"split": "val", "model_name": "Reef-8B", "access": "open", "parameters_b": 8}
form = {
    "metadata": (None, json.dumps(metadata), "application/json"),
    "predictions": ("predictions.json", json.dumps(predictions)),
}
response = session.post(f"{api}/submissions", files=form)
if not response.ok:
    raise SystemExit(json.dumps(response.json(), indent=2))  # every fault, with its place and how to mend it
submission = response.json()

while submission["finished_at"] is None:
    time.sleep(2)
    submission = session.get(f"{api}/submissions/{submission['id']}").json()
print(submission["state"])
for column, score in submission["scores"].items():
    print(f"{column:12} {score['value']:6.2f}  ({score['ci95'][0]:.2f} to {score['ci95'][1]:.2f})")
