"""What a model holds, to compare models."""

from sparsecrf import Model


def attribute_names(model):
    table = model.vocabulary.attributes
    return {table[k] for k in range(len(table))}


def content(file):
    model = Model.load(file)
    names = model.vocabulary.attributes
    return model.w.tolist(), model.features.numbers.tolist(), model.labels, [names[k] for k in range(len(names))]
