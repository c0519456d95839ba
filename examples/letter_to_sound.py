"""
Letters to sounds
=================

Learn how English words are pronounced from a dictionary that does not align letters with sounds::

    pip install "sparsecrf[demo]"
    python examples/letter_to_sound.py

There are three steps: (1) align letters with phonemes, (2) train a sparse CRF that labels letters, (3) predict the
pronunciation of words. They take half a minute on one core. `sparsecrf demo` does the same with a path of penalties,
errors and pictures.
"""

# sphinx_gallery_thumbnail_path = 'images/phoneme.svg'
import random

from sparsecrf import Vocabulary, fit
from sparsecrf.contrib.datasets.align import Aligner
from sparsecrf.contrib.datasets.cmudict import parse
from sparsecrf.contrib.datasets.fetch import contents
from sparsecrf.contrib.datasets.registry import find
from sparsecrf.contrib.demo.letters import attributes, conditions_pairs, phonemes, pronunciations

WORDS = 5000


def main() -> None:
    # Words with their phonemes: ("phoenix", ["F", "IY", "N", "IH", "K", "S"]).
    dictionary = parse(contents(find("cmudict"))["cmudict.dict"].decode("utf-8"))
    words = random.Random(1).sample(dictionary, WORDS + 1000)
    training, unseen = words[:WORDS], words[WORDS:]

    # 1. EM learns which letters make which sounds; the best alignment labels every letter: F _ _ IY N IH K+S.
    aligner = Aligner.for_words(training)
    log_likelihoods = aligner.fit(training)
    labels = aligner.align(training)
    print(f"EM: log-likelihood {log_likelihoods[0]:,.0f} to {log_likelihoods[-1]:,.0f}")
    for (spelling, _), found in list(zip(training, labels, strict=True))[:3]:
        print("   ", " ".join(f"{letter}:{label}" for letter, label in zip(spelling, found, strict=True)))

    # 2. A letter's attributes are the letters around it. The letter itself also conditions label pairs.
    vocabulary = Vocabulary(bigrams=conditions_pairs)
    corpus = vocabulary.encode((attributes(spelling) for spelling, _ in training), labels, grow=True)
    trained = fit(corpus, rho1=1.0, rho2=0.01, tol=1e-2, threads=1)
    model = trained.model(vocabulary)
    print(f"CRF: {model.n_active:,} nonzero weights for {len(model.labels)} labels")

    # 3. A word is correct if all its phonemes are.
    right = sum(phonemes(model.label(attributes(spelling))) == tuple(sounds) for spelling, sounds in unseen)
    print(f"{len(unseen)} unseen words: {100 * right / len(unseen):.1f} % right")
    for word in ("sparse", "random", "phoneme", "frabjous"):
        for sounds, p in pronunciations(model, word, 2):
            print(f"    {word:10} {100 * p:4.0f} %  {' '.join(sounds)}")


if __name__ == "__main__":
    main()
