"""A typical endpoint, FastAPI around sklearn-crfsuite, for `uvicorn benchmarks.serving.endpoint:app`.

$ENDPOINT_MODEL names the pickled estimator.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import joblib
from benchmarks.serving.features import features
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()
crf: Any = joblib.load(Path(os.environ["ENDPOINT_MODEL"]))


class Question(BaseModel):
    tokens: list[list[str]]


@app.post("/label")
def label(question: Question) -> dict[str, list[list[str]]]:
    return {"labels": [list(labels) for labels in crf.predict([features(words) for words in question.tokens])]}
