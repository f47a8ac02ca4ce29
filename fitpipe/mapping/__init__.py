"""Leads the labels of a take to the joints of a skeleton."""

from fitpipe.mapping.draft import Draft, draft_markerset
from fitpipe.mapping.markerset import MarkerSet, Recipe
from fitpipe.mapping.propose import Proposal, propose_markersets
from fitpipe.mapping.take import map_take

__all__ = [
    "Draft",
    "MarkerSet",
    "Proposal",
    "Recipe",
    "draft_markerset",
    "map_take",
    "propose_markersets",
]
