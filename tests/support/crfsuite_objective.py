"""One judge for the weights of CRFsuite and ours: it takes nothing from the tool that found them."""

from sparsecrf import Vocabulary
from sparsecrf.training import weights_in
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet


def crfsuite_objective(model, X, y, c1, c2):
    """loss + c1 |w|_1 + c2 |w|^2 of a model without a start label."""
    vocabulary = Vocabulary(start=False)
    corpus = vocabulary.encode(X, y, grow=True)
    weights = weights_in(model, vocabulary)
    objective = Objective(corpus, ElasticNet(0.0, 0.0))
    loss, _ = objective.loss_grad(objective.working_set(weights.numbers), weights.w)
    return loss + c1 * abs(weights.w).sum() + c2 * weights.w @ weights.w
