"""Labels files of records: reads records, and writes the same records with labels.

The core reads plain files in some formats if only the best labels are needed. Python reads everything else.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparsecrf._core import Constraints, Corpus, InputError
from sparsecrf.chunks import Scheme
from sparsecrf.encoding.formats.records import Answer, FoundSpan, Record, Records
from sparsecrf.files.text import Piece
from sparsecrf.lazy import np
from sparsecrf.model import Model
from sparsecrf.model.limits import chunk_constraints
from sparsecrf.model.spans import SpanReader


class RecordLabeller:
    """Labels pieces of files. Threads may share a labeller."""

    def __init__(
        self,
        model: Model,
        format: Records,
        source: str,
        *,
        probability: bool = False,
        force: bool = False,
        constrain: str | None = None,
        scheme: Scheme = Scheme.AUTO,
    ) -> None:
        """`source` names the file in errors. `probability`: add probabilities. `force`: keep the labels of the records
        if they are in the model. `constrain`: predict only chunk labels that are valid in this scheme. `scheme`: the
        span encoding of the labels."""
        self._model, self._format, self._source = model, format, source
        self._probability, self._force, self._constrain = probability, force, constrain
        self._spans = SpanReader(model.labels, scheme)
        self._best_alone = not (probability or force or constrain)

    def __call__(self, piece: Piece) -> bytes:
        """The piece with labels, in UTF-8."""
        if self._best_alone and self._format.core is not None:
            labelled = self._model.label_records(piece.data, *self._format.core, piece.line)
            if labelled is not None:
                return labelled
        records = list(self._format.records(piece, self._source, self._force))
        answers = iter(self.answers([record for record in records if record.rows]))
        return "".join(r.filled(next(answers) if r.rows else Answer([])) for r in records).encode()

    def answers(self, records: Sequence[Record]) -> list[Answer]:
        """Label these records, all of which have tokens."""
        if not records:
            return []
        for record in records if self._model.n_columns else ():
            self._format.fit_columns(record, self._model.n_columns, self._source)
        try:
            return self._answers(records)
        except InputError as error:
            if len(records) == 1:
                raise type(error)(f"{self._source}, line {records[0].line}: {error}") from None
            for record in records:  # find the record that causes the error
                self.answers([record])
            raise

    def _answers(self, records: Sequence[Record]) -> list[Answer]:
        model = self._model
        if self._best_alone and not model.needs_vectors:
            each = model.label_each(model.checked(record.rows for record in records), model.labels)
            return [Answer(names, None, self._places(names, r)) for names, r in zip(each, records, strict=True)]
        chain = model.chain_with(1)
        corpus = model.encode(record.rows for record in records)
        limits = self._limits(corpus, records)
        path, offsets = chain.viterbi(corpus, limits)[0], corpus.offsets.tolist()
        p = chain.marginals(corpus, limits)[np.arange(len(path)), path].tolist() if self._probability else None
        all_names, found = [model.labels[y] for y in path.tolist()], []
        for i, record in enumerate(records):
            a, b = offsets[i], offsets[i + 1]
            if p is None:
                found.append(Answer(all_names[a:b], None, self._places(all_names[a:b], record)))
            else:
                spans = self._spans.spans(chain, corpus, i, path[a:b], limits) if record.has_spans else []
                found.append(Answer(all_names[a:b], p[a:b], [FoundSpan(*span) for span in spans]))
        return found

    def _places(self, names: list[str], record: Record) -> list[FoundSpan]:
        """The spans of these labels, without probabilities; empty if the record does not need spans."""
        return [FoundSpan(*place, None) for place in self._spans.places_of(names)] if record.has_spans else []

    def _limits(self, corpus: Corpus, records: Sequence[Record]) -> Constraints | None:
        known = None
        if self._force:
            import numpy as np

            find = self._model.vocabulary.labels.find
            each = (name for record in records for name in _labels_of(record))
            ids = (None if name is None else find(name) for name in each)
            known = np.fromiter((-1 if y is None else y for y in ids), dtype=np.int32, count=corpus.n_tokens)
        return chunk_constraints(self._model.labels, corpus, self._constrain, known)


def _labels_of(record: Record) -> list[str | None]:
    if record.labels is None:
        raise InputError("--force: expected labels to keep, found none")
    return record.labels
