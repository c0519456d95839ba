"""What tests of the estimator share."""

OPTIONS = {"rho1": 0.3, "rho2": 0.01, "tol": 1e-6}


def same(one, other):
    """Two estimators with the same weights."""
    return one.model_.to_bytes() == other.model_.to_bytes()
