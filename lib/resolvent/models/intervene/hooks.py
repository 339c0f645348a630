"""Hooks that replace what flows into or out of a module, noted in a receipt and removed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from resolvent.models.intervene.receipts import Receipt

Edit = Callable[[torch.Tensor], torch.Tensor]
"""From what flows to what shall flow instead, every item of the batch alike; it changes nothing in place."""

Register = Callable[[], Any]
"""Registers one hook and returns its handle."""


@contextmanager
def intervention(receipt: Receipt, registers: Iterable[Register]) -> Iterator[Receipt]:
    """All hooks within the `with`, none after it.

    Raises NoEffect at the end where a place of the receipt was not changed, unless the body raised before.
    """
    with ExitStack() as stack:
        for register in registers:
            stack.callback(register().remove)
        yield receipt
    receipt.check()


def input_edit(module: torch.nn.Module, edit: Edit) -> Register:
    """Replaces the first input of a module (a projection's input, or the stream that a block reads)."""

    def hook(_module: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, Any]:
        if inputs:
            return (edit(inputs[0]), *inputs[1:]), keywords
        return inputs, {**keywords, "hidden_states": edit(keywords["hidden_states"])}

    return lambda: module.register_forward_pre_hook(hook, with_kwargs=True)


def output_edit(module: torch.nn.Module, edit: Edit) -> Register:
    """Replaces the output of a module, or the first of its outputs; a tuple stays a tuple."""

    def hook(_module: Any, _inputs: Any, output: Any) -> Any:
        return (edit(output[0]), *output[1:]) if isinstance(output, tuple) else edit(output)

    return lambda: module.register_forward_hook(hook)
