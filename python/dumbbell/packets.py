"""The packet in which rates of links are counted."""

PACKET_BITS = 12_000
"""Bits of a packet of 1500 bytes, which is also one delivery opportunity of a Mahimahi trace."""
