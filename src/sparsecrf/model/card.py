"""Shows a model in a notebook, in a few lines."""

from __future__ import annotations

from sparsecrf.model.model import Model
from sparsecrf.tables import counted, html_table

_LABELS_SHOWN = 20
_NUMBERS = ("rho1", "rho2", "objective", "gap", "kkt")  # entries of the training record


def model_card(model: Model) -> str:
    """HTML with the model's sizes, its labels and the optimality gap of training."""
    more = ", ..." if len(model.labels) > _LABELS_SHOWN else ""
    rows = [
        [counted(len(model.labels), "label"), ", ".join(model.labels[:_LABELS_SHOWN]) + more],
        ["attributes with a weight", f"{model.n_attributes:,}"],
        ["weights", f"{model.n_active:,}"],
    ]
    if model.template is not None:
        rows.append(["lines of the template", f"{len(model.template)}"])
    known = ((name, model.training.get(name)) for name in _NUMBERS)
    rows += [[name, f"{value:,.6g}"] for name, value in known if isinstance(value, float)]
    return html_table("Model", ["", ""], rows, "model.explain() shows the weights.")
