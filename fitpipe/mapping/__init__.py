"""Leads the labels of a take to the joints of a skeleton."""

from fitpipe.mapping.draft import Draft, draft_markerset
from fitpipe.mapping.markerset import MarkerSet, Recipe
from fitpipe.mapping.propose import Proposal, propose_markersets
from fitpipe.mapping.take import Mapper, make_mapper, map_take

__all__ = [
    "Draft",
    "Mapper",
    "MarkerSet",
    "Proposal",
    "Recipe",
    "draft_markerset",
    "make_mapper",
    "map_take",
    "propose_markersets",
]
