"""
Which features matter
=====================

``features="words"`` generates some fifty attributes for every word. To find out which of them a task needs, we divide
them into groups, train without each group and with each group alone, and compare F1 on held-out sentences. Then we
count the weights that the l1 penalty keeps in each group.
"""

import re

from made_up import sentences
from sparsecrf import CRF, Template
from sparsecrf.scorers import chunk_f1_score

X, y = sentences(200, seed=1)
X_test, y_test = sentences(500, seed=2)

# %%
# Print the template behind ``"words"`` by group. A line belongs to the neighbours if it refers to a row other than 0;
# otherwise, its functions determine the group: affixes, shapes, or the word itself.

lines = [line for line in Template.preset("words").text.splitlines() if line.startswith("U:")]


def group_of(line):
    if re.search(r"%\w\[[+-]?[1-9]", line):
        return "neighbours"
    return "affixes" if re.search("%[pPsS]", line) else "shapes" if re.search("%[hcne]", line) else "the word"


groups = {}
for line in lines:
    groups.setdefault(group_of(line), []).append(line)
for name, members in groups.items():
    print(f"{name:12} {len(members):3} lines, such as {members[0]}")

# %%
# Train one model for each choice of groups. ``B`` keeps plain transitions in all of them. Here, all models use the same
# penalty. Since the best penalty depends on the features, use `CRFCV` for each model if you need a fair comparison.


def f1_with(chosen):
    template = "\n".join([line for line in lines if group_of(line) in chosen] + ["B"])
    return 100 * chunk_f1_score(y_test, CRF(template=template, rho1=0.3).fit(rows(X), y).predict(rows(X_test)))


def rows(sequences):
    return [[[word] for word in words] for words in sequences]


everything = f1_with(set(groups))
without = {name: f1_with(set(groups) - {name}) for name in groups}
alone = {name: f1_with({name}) for name in groups}
print(f"all of them: F1 {everything:.1f}")
for name in groups:
    print(f"{name:12} without {without[name]:5.1f}, alone {alone[name]:5.1f}")

# %%
# If a group works well alone but the other groups score nearly as well without it, they contain the same information.

from matplotlib import pyplot

figure, axes = pyplot.subplots(figsize=(7, 3))
order = sorted(groups, key=lambda name: without[name], reverse=True)
axes.barh([k - 0.2 for k in range(len(order))], [without[name] for name in order], 0.36, label="all but these")
axes.barh([k + 0.2 for k in range(len(order))], [alone[name] for name in order], 0.36, label="these alone")
axes.axvline(everything, color="0.4", linestyle=":", label="all")
axes.set_yticks(range(len(order)), order)
axes.set_xlabel("F1 on other sentences")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
figure.tight_layout()

# %%
# In the model with all groups, the l1 penalty has selected the features. Print its weights by group:

model = CRF(features="words", rho1=0.3).fit(X, y).model_
of_name = {line[2:].partition("=")[0]: group_of(line) for line in lines}
count = dict.fromkeys(groups, 0)
attributes = model.vocabulary.attributes
for x, weight in zip(model.features.unigram_attribute, model.w, strict=False):
    if weight != 0:
        count[of_name[attributes[x].partition("=")[0].removeprefix("U:")]] += 1
for name, n in count.items():
    print(f"{name:12} {n:4} weights")
