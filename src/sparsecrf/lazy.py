"""Tools for values and objects that are computed or imported only when needed.

`lazy` is a property that is computed when it is first read, without a lock.

`functools.cached_property` has a lock before Python 3.12. If a process forks while another thread computes a property,
the lock stays taken in the child, which then waits forever. Here two threads may both compute the value, with the same
result.

`np` is NumPy, imported when it is first used: a model can be loaded, and can label text, without it. `NDArray` is
NumPy's type, for annotations in modules that import NumPy in this way.

`registered` imports the objects of a registry; the command line lists their names without importing them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

__all__ = ["NDArray", "lazy", "np", "registered"]

T = TypeVar("T")


class lazy(Generic[T]):
    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> lazy[T] | T:
        if instance is None:
            return self
        # Later reads find this attribute first.
        value = instance.__dict__[self.compute.__name__] = self.compute(instance)
        return value


class _Module:
    """A module that is imported when one of its names is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(import_module(self._name), name)
        return found


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = _Module("numpy")

    class NDArray:
        def __class_getitem__(cls, dtype: Any) -> Any:  # called only if an annotation is evaluated
            from numpy.typing import NDArray

            return NDArray[dtype]


def registered(package: str, places: Mapping[str, str]) -> dict[str, Any]:
    """The objects at these locations: a module of the package and a name in it, such as "sgd.SGD"."""
    found = {}
    for key, place in places.items():
        module, _, name = place.partition(".")
        found[key] = getattr(import_module(f"{package}.{module}"), name)
    return found
