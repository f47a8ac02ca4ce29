"""Leads the labels of a take to the joints of a skeleton."""

from fitpipe.mapping.markerset import MarkerSet, Recipe
from fitpipe.mapping.propose import Proposal, propose_markersets
from fitpipe.mapping.take import Mapper, make_mapper, map_take

__all__ = [
    "Mapper",
    "MarkerSet",
    "Proposal",
    "Recipe",
    "make_mapper",
    "map_take",
    "propose_markersets",
]
