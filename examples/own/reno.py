"""Reno with the kernel's hooks: decides as the built-in `reno` does, to the bit."""

import dumbbell


class Reno:
    """One packet more per round trip, half the window less per loss."""

    def ssthresh(self, conn: dumbbell.Conn) -> int:
        return max(conn.cwnd >> 1, 2)

    def cong_avoid(self, conn: dumbbell.Conn, acked: int) -> None:
        if not conn.is_cwnd_limited:
            return
        if conn.in_slow_start:
            acked = conn.slow_start(acked)
        if acked:
            conn.cong_avoid_ai(conn.cwnd, acked)
