"""`sparsecrf label`: labels files, sequence by sequence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain
from math import inf
from typing import IO, TYPE_CHECKING, Any, NoReturn

from sparsecrf._core import InputError
from sparsecrf.chunks import Scheme
from sparsecrf.cli.answers import OnError
from sparsecrf.compatibility import OptionError
from sparsecrf.declared import ENCODING, FORMAT, QUIET, RAGGED, THREADS, parameter
from sparsecrf.files.words import TOKENIZERS
from sparsecrf.model.chunk_rules import BIO, SCHEMES, forbidden_pairs

if TYPE_CHECKING:
    from sparsecrf.encoding.formats import Format
    from sparsecrf.files.text import Piece
    from sparsecrf.progress import Advance


def label(
    model: str = parameter(..., "The model file.", "--model", "-m", metavar="FILE"),
    data: str = parameter(
        "-", "Data with or without labels; [bold]-[/bold] is standard input.", metavar="INPUT", is_argument=True
    ),
    output: str = parameter("-", "File to write; by default standard output.", "--output", "-o"),
    nbest: int | None = parameter(
        None,
        "Print the N best label sequences; with --coverage, print at most N (10 by default).",
        metavar="N",
        min=1,
        max=10_000,
    ),
    coverage: float | None = parameter(
        None,
        "Print as many label sequences as are needed to include the correct sequence with this probability, or "
        "abstain if more than --nbest are needed. With --all-marginals, do this for the labels of each token. "
        "Requires a calibrated model.",
        metavar="C",
    ),
    marginals: bool = parameter(False, "After each label, print its marginal probability."),
    all_marginals: bool = parameter(
        False, "Like --marginals, followed by label:probability for every label, most probable first."
    ),
    score: bool = parameter(False, "Before each label sequence, print a line: # rank, probability, score."),
    token_scores: bool = parameter(False, "After each label, print the contribution of its position to the score."),
    cost_factor: float = parameter(
        1.0, "Multiply all weights by X, as crf_test -c does; this changes only probabilities.", metavar="X"
    ),
    force: bool = parameter(
        False, "Keep the labels in the last column and replace only labels that are not in the model."
    ),
    constrain: str | None = parameter(
        None, "Predict only valid sequences of chunk labels: iob1, iob2 or iobes.", metavar="SCHEME", choices=SCHEMES
    ),
    scheme: Scheme = parameter(
        Scheme.AUTO,
        "Span encoding of the labels, for --format jsonl and text, with the same choices as for eval. auto means "
        "chunks, or runs of equal labels if the labels do not look like chunks; with none, every token is a span.",
    ),
    format: str | None = parameter(None, FORMAT),
    tokenizer: str | None = parameter(
        None,
        "Tokenizer for running text (--format text or jsonl): words splits off punctuation, blanks does not. The "
        "default is the tokenizer that best matches the tokens of the training data.",
        metavar="|".join(TOKENIZERS),
        choices=tuple(TOKENIZERS),
        panel="Data",
    ),
    ragged: bool = parameter(False, RAGGED),
    encoding: str | None = parameter(None, ENCODING),
    on_error: OnError = parameter(
        OnError.STOP,
        "Treatment of a sequence that cannot be labelled: stop; skip it and write an empty answer; or replace "
        "bytes that cannot be decoded, and skip the sequence if that does not help. Every failure is reported.",
    ),
    threads: int = parameter(0, THREADS),
    quiet: bool = parameter(False, QUIET),
) -> None:
    """Label sequences. Column files get one more column, the label; in other formats, labels are filled in.

    Input from a pipe is answered sequence by sequence, as soon as the blank line after a sequence has been read, or
    document by document, as soon as the next one begins. With --nbest, the label sequences of a sentence follow one
    another, each after a line as with --score.
    """
    from sparsecrf.cli import remarks
    from sparsecrf.cli.answers import Answers
    from sparsecrf.cli.files import check_readable, check_writable, total_bytes
    from sparsecrf.encoding.formats import Records
    from sparsecrf.files.atomic import replacing
    from sparsecrf.files.text import PIECE_BYTES, name_of
    from sparsecrf.model import Model
    from sparsecrf.model.format import charset_for, format_for, with_hint
    from sparsecrf.progress import progress, say

    check_readable(model, data)
    check_writable(None if output == "-" else output, inputs=[model, data])
    known = Model.load(model)
    if not 0 < cost_factor < inf:
        _refuse("--cost-factor", f"expected a finite number above 0, found {cost_factor:g}")
    if cost_factor != 1:
        known = known.scaled(cost_factor)
    known.check_text()
    if constrain not in (None, *SCHEMES):
        _refuse("--constrain", f"expected one of {', '.join(SCHEMES)}, found {constrain!r}{BIO}")
    if tokenizer not in (None, *TOKENIZERS):
        _refuse("--tokenizer", f"expected one of {', '.join(TOKENIZERS)}, found {tokenizer!r}")
    covering = None
    if coverage is not None:
        from sparsecrf.cli.coverage import Covering, check_alone

        check_alone({"--force": force, "--constrain": constrain is not None, "--cost-factor": cost_factor != 1})
        covering = Covering(known, coverage, nbest, of_tokens=all_marginals, headers=score)
        nbest = covering.nbest
    nbest = 1 if nbest is None else nbest
    pairs, last = (b"", b"") if constrain is None else forbidden_pairs(known.labels, constrain)
    source, n_columns, charset = name_of(data), 0, charset_for(known, encoding)
    of = format_for(known, data, format, tokenizer)
    if scheme is not Scheme.AUTO and of.tokenizer is None:
        raise OptionError(f"--scheme: expected a format with spans (--format jsonl or text), found {of.title} files")
    of.check_columns(ragged, charset.is_bytes, "--")
    of.check_labels(known.labels)

    def label_piece(piece: Piece) -> bytes:
        text = known.label_text(
            piece.data,
            source,
            # otherwise, a wrong first line would invalidate all other lines
            n_columns if on_error is OnError.STOP else 0,
            piece.line,
            nbest=nbest,
            headers=score or nbest > 1,
            probability=marginals or all_marginals,
            distribution=all_marginals,
            token_scores=token_scores,
            force=force,
            bytes=charset.is_bytes,
            ragged=ragged,
            forbidden=pairs,
            forbidden_last=last,
        )
        return text if covering is None else covering(text)

    answer_piece = label_piece
    if isinstance(of, Records):
        from sparsecrf.model.record_labeller import RecordLabeller

        _check_expressible(
            of,
            {
                "--coverage": coverage is not None,
                "--nbest": nbest > 1,
                "--score": score,
                "--all-marginals": all_marginals,
                "--token-scores": token_scores,
            },
        )
        options: dict[str, Any] = {"probability": marginals, "force": force, "constrain": constrain}
        answer_piece = RecordLabeller(known, of, source, scheme=scheme, **options)

    def hinting(piece: Piece) -> bytes:
        try:
            return answer_piece(piece)
        except InputError as error:
            raise with_hint(error, of, piece) from None

    answer = Answers(hinting, of, charset, source, on_error)

    total = total_bytes([data])
    with ExitStack() as stack:
        advance = stack.enter_context(progress("labelling", total, quiet=quiet or total is None or total < 1 << 22))
        if output == "-" and sys.stdout is None:
            raise InputError("standard output: expected an open stream, found a closed one; use -o FILE")
        out: IO[bytes] = sys.stdout.buffer if output == "-" else stack.enter_context(replacing(output))
        documents = remarks.SeenDocuments(of, source)
        incoming = documents.watched(of.pieces(data))
        first = next(incoming, None)
        if first is None:
            return
        n_columns = of.width(first, source) if of.has_columns else 0
        small = total is not None and total <= PIECE_BYTES
        if small or total is None:  # input from a pipe: start answering before the threads are ready
            _write(out, answer(first), advance, first)
        else:
            incoming = chain([first], incoming)
        for piece, text in in_order(incoming, answer, 1 if small else threads or os.cpu_count() or 1):
            _write(out, text, advance, piece)
    for remark in (
        remarks.name_remark(of, output),
        remarks.header_remark(of, first, source),
        documents.remark,
        remarks.shape_remark(known, of, first, source),
        remarks.tokenizer_remark(known, of, charset, first, source),
        remarks.unknown_remark(known, of, charset, first, source, ragged=ragged),
    ):
        say(remark, quiet=quiet)


def _refuse(option: str, message: str) -> NoReturn:
    import typer

    raise typer.BadParameter(message, param_hint=option)


def _check_expressible(format: Format, options: dict[str, bool]) -> None:
    """Reject options whose output the format cannot represent."""
    for option, given in options.items():
        if given:
            raise OptionError(
                f"{option}: expected column files, found {format.title} files, which store only one label per token"
            )


def _write(out: IO[bytes], text: bytes, advance: Advance, piece: Piece) -> None:
    out.write(text)
    out.flush()
    advance(len(piece.data))


def in_order(
    incoming: Iterator[Piece], answer: Callable[[Piece], bytes], threads: int
) -> Iterator[tuple[Piece, bytes]]:
    """Yield pieces with their labelled output, in order, while several pieces are labelled at a time.

    Pieces are read ahead on a separate thread. An output is yielded as soon as it and all earlier ones are done,
    even if the next piece takes long to arrive.
    """
    if threads == 1:
        for piece in incoming:
            yield piece, answer(piece)
        return

    from concurrent.futures import Future, ThreadPoolExecutor
    from queue import SimpleQueue
    from threading import Semaphore, Thread

    done: SimpleQueue[tuple[Piece, Future[bytes]] | BaseException | None] = SimpleQueue()
    # how many pieces may still be read, and whether the consumer has stopped
    room, left = Semaphore(2 * threads), False
    workers = ThreadPoolExecutor(threads)

    def read() -> None:
        try:
            for piece in incoming:
                room.acquire()
                if left:
                    return
                done.put((piece, workers.submit(answer, piece)))
            done.put(None)
        except BaseException as error:  # the consumer raises it again
            done.put(error)

    # This is a daemon thread, so that the program can exit if labelling fails while the thread waits for input.
    Thread(target=read, daemon=True).start()
    try:
        while (item := done.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            piece, future = item
            yield piece, future.result()
            room.release()
    finally:
        left = True
        room.release()
        workers.shutdown(cancel_futures=True)
