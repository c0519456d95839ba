"""
Why this label
==============

A model's score is a sum of a few terms. We train on made-up sentences and analyse a sentence that can be read in two
ways: is Mariton a person or a place?
"""

from made_up import features, sentences
from sparsecrf import CRF

words, y = sentences(300, seed=1)
crf = CRF(rho1=0.3).fit([features(sentence) for sentence in words], y)
model = crf.model_
print(model)

# %%
# This is what the model has learnt, by label and by kind of attribute:

model.explain(top=4)

# %%
# Explain the labels of a sentence. Contributions add up to the score; the margin compares a label with its runner-up.

sentence = ["nobody", "had", "heard", "of", "Mariton", "."]
why = model.explain(features(sentence), top=4)
why

# %%
# Print the evidence for the label of "Mariton" and for its runner-up:

name = why.tokens[sentence.index("Mariton")]
for label in (name.label, name.runner_up):
    terms = ", ".join(f"{term.attribute} {term.amount:+.2f}" for term in name.contributions(label))
    print(f"{label}: {terms}")

# %%
# This plot shows the probability of every label:

from sparsecrf.contrib.plots import plot_marginals

display = plot_marginals(model, features(sentence), tokens=sentence)

# %%
# These plots show the transitions and the largest weights:

from sparsecrf.contrib.plots import plot_transitions, plot_weights

display = plot_transitions(model)

# %%
display = plot_weights(model, top=25)
