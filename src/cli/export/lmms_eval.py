"""What the task of the same folder does with a question of MarineLife-16K: generation alone, scored by Secchi."""

import os

from PIL import Image


def doc_to_visual(doc):
    """The frames of the question's video in order, or its file."""
    media = doc["media"]
    if not os.path.isdir(media):
        return [media]
    names = sorted(os.listdir(media), key=lambda name: (len(name), name))
    return [Image.open(os.path.join(media, name)).convert("RGB") for name in names if name.endswith(".jpg")]


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    """The benchmark's own prompt, as it stands."""
    return doc["prompt"]


def process_results(doc, results):
    """Writes the question's id into the logged sample; what a reply is worth only Secchi says."""
    return {"question_id": doc["question_id"]}


def aggregate(question_ids):
    """How many questions were asked."""
    return len(question_ids)
