"""VLMEvalKit with the splits of MarineLife-16K that lie beside this file: generation alone, scored by Secchi.

Takes VLMEvalKit's own arguments:

    python secchi_vlmevalkit.py --data Secchi_val --model MODEL --mode infer

and writes `MODEL_Secchi_val.xlsx` into the output folder, which is submitted as it is: secchi submit FILE --split val …
A cell of .xlsx holds 32,767 characters; with longer answers set PRED_FORMAT=tsv.
"""

import os
from pathlib import Path

from vlmeval.dataset import DATASET_CLASSES
from vlmeval.dataset.video_base import VideoBaseDataset
from vlmeval.smp import load_env

FOLDER = Path(__file__).resolve().parent
FRAMES = 8


class SecchiDataset(VideoBaseDataset):
    """Questions about videos, each shown as its frames in order, or as its file."""

    TYPE = "VQA"

    def __init__(self, dataset, nframe=FRAMES, **_):
        super().__init__(dataset=dataset, nframe=nframe)

    @classmethod
    def supported_datasets(cls):
        return sorted(path.stem for path in FOLDER.glob("Secchi_*.tsv"))

    def prepare_dataset(self, dataset):
        return dict(root=str(FOLDER), data_file=str(FOLDER / f"{dataset}.tsv"))

    def build_prompt(self, line, video_llm):
        if isinstance(line, int):
            line = self.data.iloc[line]
        media = line["video"]
        if os.path.isdir(media):
            names = sorted(os.listdir(media), key=lambda name: (len(name), name))
            paths = [os.path.join(media, name) for name in names if name.endswith(".jpg")]
            shown = [dict(type="image", value=path) for path in paths]
        elif video_llm:
            shown = [dict(type="video", value=media)]
        else:
            shown = [dict(type="image", value=path) for path in self.frames_of(line["id"], media)]
        return shown + [dict(type="text", value=line["question"])]

    def frames_of(self, video, path):
        """The frames that the benchmark's rule picks, as files: first, last, and evenly between them."""
        import decord
        import numpy as np
        from PIL import Image

        paths = self.frame_paths(video)
        if not all(os.path.exists(path) for path in paths):
            reader = decord.VideoReader(path)
            places = np.linspace(0, len(reader) - 1, self.nframe, dtype=int)
            for place, path in zip(places, paths):
                Image.fromarray(reader[int(place)].asnumpy()).save(path)
        return paths

    def evaluate(self, eval_file, **judge_kwargs):
        print(f"`{eval_file}` is scored by Secchi: secchi submit {eval_file} --split …")


DATASET_CLASSES.append(SecchiDataset)

if __name__ == "__main__":
    from vlmeval.run import main

    load_env()
    main()
