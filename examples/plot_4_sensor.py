"""
Numbers instead of words
========================

Tokens can be the rows of a matrix. Here, three noisy sensors record an activity (rest, walk, run) that changes now and
then, and a CRF finds the changes.
"""

import numpy as np

from sparsecrf import CRF

ACTIVITIES = np.array(["rest", "walk", "run"])
LEVELS = np.array([[0.0, 0.0, 0.5], [1.0, 0.3, 0.5], [1.5, 1.0, 0.5]])  # the last sensor carries no information


def record(n, rng):
    """The sensor readings and activities of n seconds. An activity lasts about 30 seconds."""
    states = [int(rng.integers(3))]
    for _ in range(n - 1):
        stay = rng.random() > 1 / 30
        states.append(states[-1] if stay else int(rng.choice([k for k in range(3) if k != states[-1]])))
    return LEVELS[states] + rng.normal(0, 0.7, (n, 3)), ACTIVITIES[states]


rng = np.random.default_rng(3)
recordings = [record(300, rng) for _ in range(12)]


# %%
# Attributes are the readings, their squares and a constant: with squares, scores can be Gaussian log-densities.


def design(readings):
    return np.hstack([readings, readings**2, np.ones((len(readings), 1))])


X = [design(readings) for readings, _ in recordings[:8]]
y = [activities for _, activities in recordings[:8]]
X_test = [design(readings) for readings, _ in recordings[8:]]
y_test = [activities for _, activities in recordings[8:]]

crf = CRF(rho1=2.0).fit(X, y)
alone = CRF(rho1=2.0).fit(np.vstack(X), np.concatenate(y), lengths=[1] * sum(map(len, X)))  # every second separately
n_test = sum(map(len, X_test))
right = alone.score(np.vstack(X_test), np.concatenate(y_test), lengths=[1] * n_test)
print(f"right, second by second: {100 * right:.1f} %")
print(f"right, as sequences:     {100 * crf.score(X_test, y_test):.1f} %")

# %%
# The weights show which readings matter: the weights of the third sensor (x2, x5) are zero or nearly zero.

for weight in crf.model_.explain().largest(12):
    before = "" if weight.previous is None else f"after {weight.previous}"
    print(f"{weight.attribute:7} {weight.label:5} {before:14} {weight.weight:+.2f}")

# %%
# For each recording that was not used for training, print the seconds at which the activity changes and at which the
# model finds a change. Short activities are missed if the readings are not clear.


def changes(labels):
    return [t for t in range(1, len(labels)) if labels[t] != labels[t - 1]]


for truth, best in zip(y_test, crf.predict(X_test), strict=True):
    print("true changes: ", changes(truth))
    print("found changes:", changes(best), end="\n\n")

# %%
# For the recording with the most changes, plot the first sensor's readings, the true activity, and the probability of
# each activity:

import matplotlib.pyplot as plt

k = max(range(len(y_test)), key=lambda k: len(changes(y_test[k])))
readings, truth = recordings[8 + k]
marginals = crf.predict_marginals(X_test)[k]
figure, (above, below) = plt.subplots(2, sharex=True, figsize=(8, 4), layout="constrained")
above.plot(readings[:, 0], color="0.6", linewidth=0.8)
above.plot(LEVELS[[list(ACTIVITIES).index(name) for name in truth], 0], color="black")
above.set_ylabel("first sensor")
below.stackplot(range(len(marginals)), marginals.T, labels=crf.classes_.tolist(), alpha=0.8)
below.set(xlabel="second", ylabel="probability", ylim=(0, 1))
below.legend(loc="lower left", ncols=3)
plt.show()
