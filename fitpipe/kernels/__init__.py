"""Compiled kernels: pure functions over arrays that know joints and bones, not takes."""
