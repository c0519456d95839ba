"""The OpenAPI 3.1 description of the server."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from sparsecrf.contrib.serve.limits import MAX_NBEST
from sparsecrf.contrib.serve.models import ServedModels
from sparsecrf.model.calibration import KINDS, SEQUENCES
from sparsecrf.model.chunk_rules import SCHEMES

_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER = {"type": "number"}
_FLAG = {"type": "boolean", "default": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _one_or_many(sentence: dict[str, Any], about: str, *, of_text: bool = False) -> dict[str, Any]:
    one = _TEXT if of_text else sentence
    return {"description": about, "oneOf": [one, _list(one)]}


_ATTRIBUTES = {"oneOf": [_list(_TEXT), {"type": "object", "additionalProperties": {"type": ["number", "string"]}}]}
_LABELS = _list(_TEXT)
_OR_NULL = {"type": ["string", "null"]}

_REQUEST: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "oneOf": [{"required": [kind]} for kind in ("text", "tokens", "columns", "attributes")],
    "properties": {
        "text": _one_or_many({}, "Sentences as running text; the answer includes their tokens.", of_text=True),
        "tokens": _one_or_many(_list(_TEXT), "Sentences as lists of words."),
        "columns": _one_or_many(_list(_list(_TEXT)), "Sentences whose tokens are rows of columns, without the label."),
        "attributes": _one_or_many(_list(_ATTRIBUTES), "Sentences whose tokens are attributes with optional values."),
        "model": {**_TEXT, "description": "The name of a model. It may be left out if there is only one."},
        "nbest": {"type": "integer", "minimum": 1, "maximum": MAX_NBEST,
                  "description": "The number of label sequences to return."},
        "marginals": {**_FLAG, "description": "Return the probability of each label at each token."},
        "scores": {**_FLAG, "description": "Return the score and the probability of the best labels."},
        "explain": {**_FLAG, "description": "Return the contribution of each attribute to the score."},
        "coverage": {**_NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1,
                     "description": "Return sets that contain the answer with this probability; needs calibration."},
        "coverage_of": {"enum": [*KINDS], "default": SEQUENCES, "description": "What the sets contain."},
        "constrain": {"enum": [*SCHEMES, None], "description": "Return only chunk labels allowed by this scheme."},
        "allowed": {"description": "The labels allowed for each token; null allows any label.",
                    "oneOf": [_list({"type": ["array", "null"]}), _list(_list({"type": ["array", "null"]}))]},
        "forbidden": {**_list({"type": "array", "prefixItems": [_OR_NULL, _TEXT]}),
                      "description": "Pairs of a previous label (null: start) and a label that must not follow it."},
        "fixed": {"description": "The label of each token if it is known, else null.",
                  "oneOf": [_list(_OR_NULL), _list(_list(_OR_NULL))]},
    },
}  # fmt: skip
_ANSWER: dict[str, Any] = {
    "type": "object",
    "required": ["labels", "model"],
    "properties": {
        "labels": {**_list(_LABELS), "description": "The best labels of each sentence."},
        "model": _TEXT,
        "tokens": {**_list(_list(_TEXT)), "description": "The tokens of `text`."},
        "offsets": {**_list(_list(_list({"type": "integer"}))), "description": "Start and end of each token."},
        "scores": _list(_NUMBER),
        "probabilities": _list(_NUMBER),
        "nbest": _list(_list({"type": "object", "required": ["labels", "probability", "score"],
                              "properties": {"labels": _LABELS, "probability": _NUMBER, "score": _NUMBER}})),
        "marginals": {**_list(_list(_list(_NUMBER))), "description": "By sentence, token and label (see `classes`)."},
        "classes": _LABELS,
        "sets": {**_list({"type": ["array", "null"]}),
                 "description": "Answers with their probabilities: label sequences, labels of each token, or [start, "
                 "end, types] of each span; null if there would be too many."},
        "reasons": _list(_list({"type": "object", "properties": {
            "token": {"type": "integer"}, "attribute": _TEXT, "previous": _OR_NULL, "label": _TEXT, "value": _NUMBER,
            "weight": _NUMBER}})),
    },
}  # fmt: skip
_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "status": {"type": "integer"},
                **dict.fromkeys(("message", "expected", "found", "where", "instead"), _TEXT),
            },
        }
    },
}
_STATUS = {
    "400": "The body is not JSON.",
    "401": "The token is missing or wrong.",
    "404": "No model has that name.",
    "408": "The body did not arrive in time.",
    "413": "The request is too large, or labelling it takes too long.",
    "415": "The body is compressed.",
    "422": "The model cannot label this request.",
    "503": "Too many concurrent requests; try again in a second.",
}


def description(models: ServedModels) -> dict[str, Any]:
    """The description of this server."""
    refused = {status: {"description": text, **_json("Error")} for status, text in _STATUS.items()}
    label = {
        "summary": "Label sentences",
        "operationId": "label",
        "requestBody": {"required": True, **_json("LabelRequest")},
        "responses": {"200": {"description": "The labels.", **_json("LabelAnswer")}, **refused},
    }
    found = {
        "/models": ("The models by name, with their labels and input forms", "application/json"),
        "/health": ("Whether every model is up to date with its file", "application/json"),
        "/metrics": ("Counts for Prometheus", "text/plain"),
    }
    others = {
        path: {"get": {"summary": text, "responses": {"200": {"description": text, "content": {kind: {}}}}}}
        for path, (text, kind) in found.items()
    }
    names = [one.name for one in models]
    request = {**_REQUEST, "properties": {**_REQUEST["properties"]}}
    request["properties"]["model"] = {**request["properties"]["model"], "enum": names}
    return {
        "openapi": "3.1.0",
        "info": {"title": "sparsecrf serve", "version": version("sparsecrf")},
        "paths": {"/label": {"post": label}, **others},
        "components": {
            "schemas": {"LabelRequest": request, "LabelAnswer": _ANSWER, "Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _json(schema: str) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}
