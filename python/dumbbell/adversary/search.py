"""The search: CMA-ES with restarts, each with a larger population and from the best of points drawn anew.

Hansen and Ostermeier, Completely derandomized self-adaptation in evolution strategies, 2001; Auger and Hansen, A
restart CMA evolution strategy with increasing population size, 2005. The program is pycma.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from dumbbell import extras

POPULATION = 16
"""Of the first round; that of each round is twice as large, up to :data:`LARGEST`."""

LARGEST = 128

DRAWN = 4
"""So many populations are drawn at the beginning of a round."""

SPREAD = 0.2
"""Standard deviation at the beginning of a round, of numbers from 0 to 1."""

GENERATIONS = 60
"""Most generations of a round."""

Vectors = Sequence[Sequence[float]]


def optimiser() -> Any:
    """The module that does it.

    Raises:
        MissingExtraError: It is not installed.
    """
    extras.need("adversary", "the search")
    import cma

    return cma


def proposals(genes: int, seed: int) -> Generator[Vectors, Sequence[float], None]:
    """Vectors to try, for ever; wants the cost of each. The same costs give the same vectors."""
    from scipy.stats import qmc

    cma = optimiser()
    for number in itertools.count():
        rng = np.random.default_rng([seed, number])
        population = min(POPULATION << number, LARGEST)
        drawn: list[list[float]] = qmc.LatinHypercube(genes, seed=rng).random(DRAWN * population).tolist()
        costs = yield drawn
        settings = {
            "bounds": [0, 1],
            "popsize": population,
            "maxiter": GENERATIONS,
            "tolfun": 1e-3,
            "tolfunhist": 1e-3,
            "verbose": -9,
            # Numbers of its own: those of NumPy belong to the program around.
            "seed": np.nan,
            "randn": lambda *shape, rng=rng: rng.standard_normal(shape),
        }
        strategy = cma.CMAEvolutionStrategy(drawn[int(np.argmin(costs))], SPREAD, settings)
        while not strategy.stop():
            asked = [vector.tolist() for vector in strategy.ask()]
            costs = yield asked
            strategy.tell(asked, list(costs))
