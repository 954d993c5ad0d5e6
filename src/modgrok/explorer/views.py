"""What a page draws of a network that trains: which cells are right, and some neurons along the circle."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.algebra.cosets import coset_order
from modgrok.algebra.groups import Group
from modgrok.explorer.encoding import encoded
from modgrok.explorer.network_answers import mean_at, shown_neurons
from modgrok.inspection.film import host_blocks_of
from modgrok.inspection.inside import named_axes
from modgrok.inspection.order import NO_ORDER, Order, order_of
from modgrok.inspection.spectrum import alive, block_power, neuron_norm, periodicity
from modgrok.networks.models import Blocks
from modgrok.networks.network import Network
from modgrok.networks.verification import answers
from modgrok.training.inspecting import training_rows

TEST_WRONG, TEST_RIGHT, TRAIN_WRONG, TRAIN_RIGHT, UNKNOWN = range(5)
"""What a cell of the table is, as a page reads it: twice whether it trains, and whether it is right."""
MOST_NEURONS = 8


class Cells:
    """The table of a training: what is right does not change, nor which cells train."""

    def __init__(self, network: Network) -> None:
        self.right: Int[np.ndarray, "row"] = answers(network, network.inputs())
        trained = training_rows(network)
        self.trained: Bool[np.ndarray, "row"] = np.zeros(network.rows, bool) if trained is None else trained

    def kinds(self, network: Network) -> Int[np.ndarray, "row"]:
        hits = network.table().reshape(-1) == self.right
        return np.where(self.right < 0, UNKNOWN, 2 * self.trained + hits)

    def view(self, network: Network) -> dict[str, Any]:
        return {"sizes": list(network.model.residues), "cells": encoded(self.kinds(network), "u8")}


def neuron_view(network: Network, chosen: list[int]) -> dict[str, Any]:
    """Some neurons as waves."""
    order = order_of(network.function, str(network.settings.get("order", "auto")))
    blocks = host_blocks_of(network)
    power = block_power(blocks, order.places)
    measured = periodicity(blocks, order.places)
    used = [order.places.period[axis] > 0 for axis in blocks.places]
    periods = [int(order.places.period[axis]) for axis, has in zip(blocks.places, used, strict=True) if has]
    names = [named_axes(network, axis, blocks) for axis, has in zip(blocks.places, used, strict=True) if has]
    view = {
        "order": order.name,
        "period": max(periods, default=0),
        "periods": periods,
        "blocks": names,
        "shown": chosen,
        "waves": encoded(along_circles(blocks, order, chosen), "f32"),
        "frequency": (1 + np.argmax(power[np.array(used)][:, chosen, 1:], axis=-1)).T.tolist() if any(used) else [],
        "ipr": encoded(np.asarray(measured.ipr), "f32") if periods else None,
        "alive": int(np.sum(measured.alive)),
    }
    return view | over_elements(network, blocks, chosen) if order.name == NO_ORDER else view


def over_elements(network: Network, blocks: Blocks, chosen: list[int]) -> dict[str, Any]:
    """The weights of one block over the elements of a group that is not cyclic, where there are no waves."""
    group = network.function.structure
    assert isinstance(group, Group)  # no other function has no order
    waves = np.asarray(blocks.weights[0])[chosen][:, along_cosets(group)]
    name = named_axes(network, blocks.places[0], blocks)
    return {"order": "cosets", "period": group.order, "blocks": [name], "waves": encoded(waves, "f32")}


along_cosets = lru_cache(maxsize=8)(coset_order)


def still_shown(network: Network, shown: list[int] | None) -> list[int]:
    """The neurons to show of a network that trains: those that were shown, the largest for those that have died."""
    blocks = host_blocks_of(network)
    order = order_of(network.function, str(network.settings.get("order", "auto")))
    frequency = 1 + np.argmax(block_power(blocks, order.places)[..., 1:].sum(axis=0), axis=-1)
    largest = shown_neurons(frequency, np.asarray(neuron_norm(blocks)), MOST_NEURONS)
    if shown is None:
        return largest
    living, fresh = np.asarray(alive(blocks)), iter([k for k in largest if k not in shown])
    return [k if living[k] else next(fresh, k) for k in shown]


def along_circles(blocks: Blocks, order: Order, neurons: list[int]) -> Float[np.ndarray, "neuron block place"]:
    """Weights at every place of the circles of the blocks that have one; NaN past the end of the shorter ones."""
    placed, longest = [], max(1, int(max(order.places.period)))
    for weights, axis in zip(blocks.weights, blocks.places, strict=True):
        period = int(order.places.period[axis])
        if period > 0:
            place = np.asarray(order.places.place)[axis][: weights.shape[1]]
            found = np.full((longest, len(neurons)), np.nan)
            found[:period] = mean_at(place, np.asarray(weights)[neurons].T, period)
            placed.append(found)
    return np.stack(placed).transpose(2, 0, 1) if placed else np.empty((len(neurons), 0, longest))
