"""What the component can learn from docs, as labels of tokens."""

from __future__ import annotations

from spacy.tokens import Doc, Token

#: Name to the term used in errors.
TARGETS = {"ents": "entities", "tag": "tags", "pos": "parts of speech"}


def labels_of(doc: Doc, target: str) -> list[str | None]:
    """The labels of all tokens; None for tokens that are not annotated. Entities are B-TYPE, I-TYPE and O."""
    if target == "ents":
        return [_iob2(token) for token in doc]
    return [getattr(token, f"{target}_") or None for token in doc]


def _iob2(token: Token) -> str | None:
    if token.ent_iob_ in ("", "O"):
        return token.ent_iob_ or None
    return f"{token.ent_iob_}-{token.ent_type_}"
