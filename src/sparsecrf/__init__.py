"""Sparse linear-chain conditional random fields."""
