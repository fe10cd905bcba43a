"""Large fields that the agent sends once: what is kept of them, and inputs that have them as if they had been sent again."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, ItemsView, Iterator, KeysView, List, Mapping, Tuple, Union, ValuesView

    Plain = Dict[str, Any]
else:
    Plain = dict


class Text:
    """A text that only grows, in pieces."""

    def __init__(self, text: str) -> None:
        self.pieces: List[str] = [text]

    def now(self) -> Callable[[], str]:
        """A function that puts together what there is by now."""
        count = len(self.pieces)
        return lambda: "".join(self.pieces[:count])


class Store:
    """What is kept, by number."""

    def __init__(self) -> None:
        self._kept: Dict[Any, Any] = {}

    def whole(self, heard: Mapping[str, Any]) -> Dict[str, Any]:
        """The input of a request, with the fields that were sent earlier."""
        sent = heard.get("input")
        if not isinstance(sent, dict):
            raise ValueError("the request has no input")
        lent: Dict[str, Callable[[], Any]] = {}
        for field, number in (heard.get("keep") or {}).items():
            if field not in sent:
                raise ValueError(f"the request keeps {field}, which it does not have")
            value = sent.pop(field)
            self._kept[number] = Text(value) if isinstance(value, str) else value
            lent[field] = self._loan(number)
        for field, (number, more) in (heard.get("grow") or {}).items():
            text = self._kept.get(number)
            if not isinstance(text, Text) or not isinstance(more, str):
                raise ValueError(f"no text is kept under {number}")
            text.pieces.append(more)
            lent[field] = text.now()
        for field, number in (heard.get("kept") or {}).items():
            if number not in self._kept:
                raise ValueError(f"nothing is kept under {number}")
            lent[field] = self._loan(number)
        return Input(sent, lent) if lent else sent

    def _loan(self, number: Any) -> Callable[[], Any]:
        value = self._kept[number]
        return value.now() if isinstance(value, Text) else lambda: copy(value)


def copy(value: Any) -> Any:
    """JSON copied node by node; texts, which are what is large, are shared."""
    if isinstance(value, dict):
        return {key: copy(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [copy(inner) for inner in value]
    return value


class Input(Plain):
    """A dict some of whose values belong to others: each is copied when somebody looks at it."""

    def __init__(self, own: Mapping[str, Any], lent: Dict[str, Callable[[], Any]]) -> None:
        super().__init__(own)
        self._lent = lent

    def _take(self, key: object) -> None:
        make = self._lent.pop(key, None)  # type: ignore[call-overload]
        if make is not None:
            super().__setitem__(key, make())  # type: ignore[index]

    def _take_all(self) -> None:
        for key in list(self._lent):
            self._take(key)

    def __missing__(self, key: str) -> Any:
        if key not in self._lent:
            raise KeyError(key)
        self._take(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._lent

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def __setitem__(self, key: str, value: Any) -> None:
        self._lent.pop(key, None)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self._take(key)
        super().__delitem__(key)

    def pop(self, key: str, *default: Any) -> Any:
        self._take(key)
        return super().pop(key, *default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        self._take(key)
        return super().setdefault(key, default)

    def update(self, *args: Any, **fields: Any) -> None:
        self._take_all()
        super().update(*args, **fields)

    def popitem(self) -> Tuple[str, Any]:
        self._take_all()
        return super().popitem()

    def clear(self) -> None:
        self._lent.clear()
        super().clear()

    # Whoever looks at it as a whole looks at everything.

    def __iter__(self) -> Iterator[str]:
        self._take_all()
        return super().__iter__()

    def __reversed__(self) -> Iterator[str]:
        self._take_all()
        return super().__reversed__()

    def __len__(self) -> int:
        return super().__len__() + len(self._lent)

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        self._take_all()
        return super().keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        self._take_all()
        return super().values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        self._take_all()
        return super().items()

    def copy(self) -> Dict[str, Any]:
        return dict(self.items())

    def __eq__(self, other: object) -> bool:
        self._take_all()
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __or__(self, other: Any) -> Any:
        return {**self.copy(), **other}

    def __ror__(self, other: Any) -> Any:
        return {**other, **self.copy()}

    def __ior__(self, other: Any) -> "Input":  # type: ignore[override]
        self.update(other)
        return self

    def __repr__(self) -> str:
        self._take_all()
        return super().__repr__()

    def __reduce__(self) -> Union[str, Tuple[Any, ...]]:
        return (dict, (self.copy(),))
