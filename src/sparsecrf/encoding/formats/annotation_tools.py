"""JSON lines of annotation tools: Prodigy and Label Studio tasks.

A Prodigy task contains a text with spans of characters, and the tokens of the text with their positions.

    {"text": "Ada went", "tokens": [{"text": "Ada", "start": 0, "end": 3, "id": 0}, ...],
     "spans": [{"start": 0, "end": 3, "token_start": 0, "token_end": 0, "label": "PER"}]}

In a Label Studio task, `data` contains the text, and `annotations` contain the spans as results; spans that a model
predicts are stored as predictions.

    {"data": {"text": "Ada went"}, "annotations": [{"result": [{"type": "labels", "from_name": "label",
     "to_name": "text", "value": {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]}}]}]}
"""

from __future__ import annotations

from typing import Any

from sparsecrf.encoding.formats.json_lines import TextRecord, fail, json_line
from sparsecrf.encoding.formats.records import Answer, Record

_MODEL = "sparsecrf"  # the source of predictions, as shown in Label Studio


def record_of_tool(
    content: dict[str, Any], key: str, line: int, where: str, labelled: bool, tokenizer: str
) -> Record | None:
    """The record of a task; None if the task belongs to neither tool. `key` is the field of spans."""
    data, tokens = content.get("data"), content.get("tokens")
    if isinstance(data, dict) and "text" in data:
        return _LabelStudioTask(content, line, where, labelled, tokenizer)
    if "text" in content and isinstance(tokens, list) and tokens and isinstance(tokens[0], dict):
        return _ProdigyTask(content, key, line, where, labelled, tokenizer)
    return None


class _ProdigyTask(TextRecord):
    """A Prodigy task, whose tokens are the words."""

    def _cut(self, text: str, tokenizer: str) -> list[tuple[int, int]]:
        found, last = list[tuple[int, int]](), 0
        for token in self._content["tokens"]:
            a, b = (token.get(name) for name in ("start", "end")) if isinstance(token, dict) else (None, None)
            if type(a) is not int or type(b) is not int or not last <= a < b <= len(text):
                fail(self._where, "tokens", "start and end of words of the text, in order", token)
            last = b
            if text[a:b].strip():  # Prodigy turns runs of whitespace into tokens
                found.append((a, b))
        return found

    def filled(self, answer: Answer) -> str:
        number = {token["start"]: k for k, token in enumerate(self._content["tokens"])}
        spans = self._spans(answer)
        for span, found in zip(spans, answer.spans, strict=True):
            span["token_start"], span["token_end"] = (number[self._words[t][0]] for t in (found.start, found.end - 1))
        return json_line({**self._content, self._key: spans})


class _LabelStudioTask(TextRecord):
    """A Label Studio task, whose spans are in the first annotation that was not cancelled."""

    def __init__(self, content: dict[str, Any], line: int, where: str, labelled: bool, tokenizer: str) -> None:
        self._task, self._names = content, {"from_name": "label", "to_name": "text", "type": "labels"}
        plain: dict[str, Any] = {"text": content["data"]["text"]}
        results = self._results(where)
        if results is not None:
            plain["spans"] = [self._plain_span(result, where) for result in results]
        super().__init__(plain, "spans", line, where, labelled, tokenizer)

    def _results(self, where: str) -> list[Any] | None:
        """The results that are labels of spans; None if there is no annotation."""
        annotations = self._task.get("annotations") or []
        if not isinstance(annotations, list) or not all(isinstance(one, dict) for one in annotations):
            fail(where, "annotations", "a list of annotations", annotations)
        chosen = next((one for one in annotations if not one.get("was_cancelled")), None)
        if chosen is None:
            return None
        results = chosen.get("result")
        if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
            fail(where, "annotations", 'a list "result"', results)
        return [one for one in results if isinstance(one.get("value"), dict) and "labels" in one["value"]]

    def _plain_span(self, result: dict[str, Any], where: str) -> dict[str, Any]:
        value, kinds = result["value"], result["value"]["labels"]
        if not isinstance(kinds, list) or len(kinds) != 1:
            fail(where, "labels", "one label for each span", kinds)
        self._names |= {name: result[name] for name in self._names if isinstance(result.get(name), str)}
        return {"start": value.get("start"), "end": value.get("end"), "label": kinds[0]}

    def filled(self, answer: Answer) -> str:
        text, results = self._content["text"], []
        for span in self._spans(answer):
            a, b = span["start"], span["end"]
            score = {"score": span["probability"]} if "probability" in span else {}
            value = {"start": a, "end": b, "text": text[a:b], "labels": [span["label"]]}
            results.append({**self._names, "value": value, **score})
        return json_line({**self._task, "predictions": [{"model_version": _MODEL, "result": results}]})
