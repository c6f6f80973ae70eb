"""The algorithm of this repository: an idea in twenty lines."""

import dumbbell


class Mine:
    """Adds `gain` packets a round trip, and keeps `keep` of its window after a loss."""

    gain: float = dumbbell.parameter(1.0, range=(0.1, 10.0), unit="packets a round trip", meaning="Growth.")
    keep: float = dumbbell.parameter(0.5, range=(0.1, 0.9), meaning="Share of the window that a loss leaves.")

    def on_ack(self, conn: dumbbell.Conn, ack: dumbbell.Ack) -> None:
        if conn.in_slow_start:
            conn.cwnd += ack.packets
        else:
            conn.cwnd += self.gain * ack.packets / conn.cwnd

    def on_loss(self, conn: dumbbell.Conn, loss: dumbbell.Loss) -> None:
        conn.cwnd = max(2, conn.cwnd * self.keep)

    def on_timeout(self, conn: dumbbell.Conn) -> None:
        conn.cwnd = 1
