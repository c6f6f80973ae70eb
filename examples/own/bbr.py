"""BBR version 1 with the kernel's hooks: decides as the built-in `bbr`, Linux's, does, to the bit.

Written from docs/specs/bbr1.md. Bandwidth is in packets per microsecond times 2**24, gains are in 1/256, times are
ticks of the kernel's coarse clock or microseconds, and all divisions cut off, as in the kernel.
"""

from dumbbell import Ack, CaState, Conn

BW_UNIT = 1 << 24
UNIT = 256
HIGH_GAIN = 739
DRAIN_GAIN = 88
CWND_GAIN = 512
CYCLE = (320, 192, 256, 256, 256, 256, 256, 256)
BW_ROUNDS = 10
MIN_RTT_WINDOW_S = 10
PROBE_RTT_MS = 200
MIN_CWND = 4
INITIAL_CWND = 10
PACED_PPM = 990_000
UNKNOWN = 0xFFFF_FFFF
STARTUP, DRAIN, PROBE_BW, PROBE_RTT = range(4)


def is_after(a: int, b: int) -> bool:
    """Whether tick `a` is later than tick `b`, both modulo 2**32."""
    return (b - a) & 0x8000_0000 != 0


class Bbr:
    """Paces at the estimated bandwidth and bounds the window by the estimated BDP."""

    wants_pacing = True
    sndbuf_expand = 3

    # -- the connection -------------------------------------------------------------------------------------------

    def __init__(self) -> None:
        self.mode = STARTUP
        self.phase = 0
        self.pacing_gain = self.cwnd_gain = 0
        # The largest bandwidth of the last rounds, two successors, and the rounds in which they were seen.
        self.best_bw, self.best_round = [0] * 3, [0] * 3
        self.round = self.next_delivered = 0
        self.round_start = False
        self.full_bw = self.full_rounds = 0
        self.full_pipe = False
        self.cycle_start_us = 0
        self.min_rtt_us, self.min_rtt_stamp = UNKNOWN, 0
        self.probe_rtt_done = 0
        self.probe_rtt_round_done = self.idle_restart = False
        self.prior_cwnd = 0
        self.previous_state = int(CaState.OPEN)
        self.conserves = self.restores = False
        self.extra = [0, 0]
        self.extra_slot = self.extra_age = 0
        self.epoch_acked = self.epoch_start_us = 0
        self.policed = self.sampling = False
        self.policer_bw = self.policer_rounds = 0
        self.interval_ms = self.interval_delivered = self.interval_lost = 0
        self.is_nominal = True

    def init(self, conn: Conn) -> None:
        self.next_delivered = conn.delivered
        self.min_rtt_us, self.min_rtt_stamp = conn.min_rtt_us, conn.jiffies
        self.epoch_start_us = conn.mstamp_us
        self.reset_policer(conn)
        conn.ssthresh = 0x7FFF_FFFF
        self.init_pacing_rate(conn)

    def ssthresh(self, conn: Conn) -> int:
        self.save_cwnd(conn)
        return conn.ssthresh

    def undo_cwnd(self, conn: Conn) -> int:
        self.full_bw = self.full_rounds = 0
        self.full_pipe = False
        self.reset_policer(conn)
        return conn.cwnd

    def set_state(self, conn: Conn, state: int) -> None:
        if state == CaState.LOSS:
            self.previous_state = state
            self.full_bw = 0
            self.round_start = True
            self.sample_policer(conn, losses=1, is_app_limited=False)

    def cwnd_event(self, conn: Conn, event: str) -> None:
        if event != "tx_start" or conn.app_limited == 0:
            return
        self.idle_restart = True
        self.epoch_acked, self.epoch_start_us = 0, conn.mstamp_us
        if self.mode == PROBE_BW:
            self.set_pacing_rate(conn, self.bw(), UNIT)
        elif self.mode == PROBE_RTT:
            self.check_probe_rtt_done(conn)

    def min_tso_segs(self, conn: Conn) -> int:
        return 1 if conn.pacing_rate < 150_000 else 2

    def cong_control(self, conn: Conn, ack: Ack) -> None:
        self.round_start = False
        has_rate = ack.delivered >= 0 and ack.interval_us > 0
        if has_rate:
            self.update_bandwidth(conn, ack)
        bw = self.bw()
        if has_rate and ack.acked_sacked > 0:
            self.measure_aggregation(conn, ack.acked_sacked, bw)
        if self.mode == PROBE_BW:
            if self.phase_is_over(conn, ack):
                self.phase = (self.phase + 1) % len(CYCLE)
                self.cycle_start_us = conn.delivered_mstamp_us
        else:
            self.check_full_pipe(ack)
            self.check_drain(conn)
        self.update_min_rtt(conn, ack)
        self.update_gains()
        self.set_pacing_rate(conn, bw, self.pacing_gain)
        self.set_cwnd(conn, ack, bw)

    # -- bandwidth ------------------------------------------------------------------------------------------------

    def max_bw(self) -> int:
        return self.best_bw[0]

    def bw(self) -> int:
        return self.policer_bw if self.policed else self.max_bw()

    def update_bandwidth(self, conn: Conn, ack: Ack) -> None:
        if ack.prior_delivered >= self.next_delivered:
            self.next_delivered = conn.delivered
            self.round += 1
            self.round_start = True
            self.conserves = False
        if self.sampling or ack.losses > 0:
            self.sample_policer(conn, ack.losses, ack.is_app_limited)
        bw = ack.delivered * BW_UNIT // ack.interval_us
        if not ack.is_app_limited or bw >= self.max_bw():
            self.remember(bw)

    def remember(self, bw: int) -> None:
        """Takes a sample into the maximum of the last rounds."""
        bws, rounds, now = self.best_bw, self.best_round, self.round
        if bw >= bws[0]:
            self.replace(0, bw)
            return
        if bw >= bws[1]:
            self.replace(1, bw)
        elif bw >= bws[2]:
            self.replace(2, bw)
        age = now - rounds[0]
        if age > BW_ROUNDS:
            while now - rounds[0] > BW_ROUNDS:
                for place in range(2):
                    bws[place], rounds[place] = bws[place + 1], rounds[place + 1]
                self.replace(2, bw)
        elif age > BW_ROUNDS // 4:
            if rounds[1] == rounds[0]:
                self.replace(1, bw)
            elif rounds[2] == rounds[1] and age > BW_ROUNDS // 2:
                self.replace(2, bw)

    def replace(self, first: int, bw: int) -> None:
        """Puts a sample of this round in the place of the best of them from `first` on."""
        for place in range(first, 3):
            self.best_bw[place], self.best_round[place] = bw, self.round

    def measure_aggregation(self, conn: Conn, acked: int, bw: int) -> None:
        expected = bw * max(conn.delivered_mstamp_us - self.epoch_start_us, 0) // BW_UNIT
        if self.epoch_acked > expected and self.epoch_acked + acked < 1 << 20:
            self.epoch_acked += acked
            excess = self.epoch_acked - expected
        else:
            self.epoch_start_us = conn.delivered_mstamp_us
            self.epoch_acked = excess = min(acked, (1 << 20) - 1)
        if self.round_start:
            self.extra_age = min(self.extra_age + 1, 31)
            if self.extra_age >= 5:
                self.extra_age = 0
                self.extra_slot = 1 - self.extra_slot
                self.extra[self.extra_slot] = 0
        self.extra[self.extra_slot] = max(min(excess, conn.cwnd), self.extra[self.extra_slot])

    # -- modes ----------------------------------------------------------------------------------------------------

    def check_full_pipe(self, ack: Ack) -> None:
        if self.full_pipe or not self.round_start or ack.is_app_limited:
            return
        if self.max_bw() >= self.full_bw * 320 // UNIT:
            self.full_bw, self.full_rounds = self.max_bw(), 0
        else:
            self.full_rounds += 1
            self.full_pipe = self.full_rounds >= 3

    def check_drain(self, conn: Conn) -> None:
        if self.mode == STARTUP and self.full_pipe:
            self.mode = DRAIN
            conn.ssthresh = self.inflight(conn, self.max_bw(), UNIT)
        if self.mode == DRAIN and self.in_network(conn, conn.in_flight) <= self.inflight(conn, self.max_bw(), UNIT):
            self.enter_probe_bw(conn)

    def enter_probe_bw(self, conn: Conn) -> None:
        self.mode = PROBE_BW
        self.phase = (len(CYCLE) - conn.random.below(7)) % len(CYCLE)
        self.cycle_start_us = conn.delivered_mstamp_us

    def phase_is_over(self, conn: Conn, ack: Ack) -> bool:
        is_long = max(conn.delivered_mstamp_us - self.cycle_start_us, 0) > self.min_rtt_us
        if self.pacing_gain == UNIT:
            return is_long
        in_network = self.in_network(conn, ack.prior_in_flight)
        if self.pacing_gain > UNIT:
            return is_long and (ack.losses > 0 or in_network >= self.inflight(conn, self.max_bw(), self.pacing_gain))
        return is_long or in_network <= self.inflight(conn, self.max_bw(), UNIT)

    def update_min_rtt(self, conn: Conn, ack: Ack) -> None:
        expired = is_after(conn.jiffies, self.min_rtt_stamp + MIN_RTT_WINDOW_S * conn.hz)
        if ack.rtt_us >= 0 and (ack.rtt_us < self.min_rtt_us or (expired and not ack.is_ack_delayed)):
            self.min_rtt_us, self.min_rtt_stamp = ack.rtt_us, conn.jiffies
        if expired and not self.idle_restart and self.mode != PROBE_RTT:
            self.mode = PROBE_RTT
            self.save_cwnd(conn)
            self.probe_rtt_done = 0
        if self.mode == PROBE_RTT:
            conn.app_limited = max(conn.delivered + conn.in_flight, 1)
            if self.probe_rtt_done == 0:
                if conn.in_flight <= MIN_CWND:
                    self.probe_rtt_done = (conn.jiffies + -(-PROBE_RTT_MS * conn.hz // 1000)) & UNKNOWN
                    self.probe_rtt_round_done = False
                    self.next_delivered = conn.delivered
            else:
                self.probe_rtt_round_done |= self.round_start
                if self.probe_rtt_round_done:
                    self.check_probe_rtt_done(conn)
        if ack.delivered > 0:
            self.idle_restart = False

    def check_probe_rtt_done(self, conn: Conn) -> None:
        if self.probe_rtt_done == 0 or not is_after(conn.jiffies, self.probe_rtt_done):
            return
        self.min_rtt_stamp = conn.jiffies
        conn.cwnd = max(conn.cwnd, self.prior_cwnd)
        if self.full_pipe:
            self.enter_probe_bw(conn)
        else:
            self.mode = STARTUP

    def update_gains(self) -> None:
        if self.mode == PROBE_BW:
            self.pacing_gain, self.cwnd_gain = (UNIT if self.policed else CYCLE[self.phase]), CWND_GAIN
        else:
            self.pacing_gain = (HIGH_GAIN, DRAIN_GAIN, 0, UNIT)[self.mode]
            self.cwnd_gain = (HIGH_GAIN, HIGH_GAIN, 0, UNIT)[self.mode]

    # -- pacing ---------------------------------------------------------------------------------------------------

    def rate(self, conn: Conn, bw: int, gain: int) -> int:
        return bw * conn.mss * gain // UNIT * PACED_PPM // BW_UNIT

    def init_pacing_rate(self, conn: Conn) -> None:
        self.is_nominal = conn.srtt_us_x8 == 0
        rtt_us = max(conn.srtt_us_x8 >> 3, 1) if conn.srtt_us_x8 else 1000
        bw = conn.cwnd * BW_UNIT // rtt_us
        conn.pacing_rate = min(self.rate(conn, bw, HIGH_GAIN), conn.max_pacing_rate)

    def set_pacing_rate(self, conn: Conn, bw: int, gain: int) -> None:
        if self.is_nominal and conn.srtt_us_x8 > 0:
            self.init_pacing_rate(conn)
        rate = min(self.rate(conn, bw, gain), conn.max_pacing_rate)
        if self.full_pipe or rate > conn.pacing_rate:
            conn.pacing_rate = rate

    def burst(self, conn: Conn) -> int:
        size = min(conn.pacing_rate >> conn.pacing_shift, 65_215) // conn.mss
        return min(max(size, self.min_tso_segs(conn)), 127)

    def in_network(self, conn: Conn, in_flight: int) -> int:
        """Packets left in the network when the next burst departs."""
        burst = self.burst(conn) if self.pacing_gain > UNIT else 0
        wait_us = max(conn.next_departure_ns - conn.now_ns, 0) // 1000
        return max(in_flight + burst - self.bw() * wait_us // BW_UNIT, 0)

    # -- the window -----------------------------------------------------------------------------------------------

    def bdp(self, bw: int, gain: int, allowance: int = 0) -> int:
        if self.min_rtt_us == UNKNOWN:
            return INITIAL_CWND
        return -(-(bw * self.min_rtt_us * gain // UNIT + allowance) // BW_UNIT)

    def with_budget(self, conn: Conn, window: int) -> int:
        window = (window + 3 * self.burst(conn) + 1) & ~1
        return window + 2 if self.mode == PROBE_BW and self.phase == 0 else window

    def inflight(self, conn: Conn, bw: int, gain: int) -> int:
        return self.with_budget(conn, self.bdp(bw, gain))

    def save_cwnd(self, conn: Conn) -> None:
        is_untouched = self.previous_state < CaState.RECOVERY and self.mode != PROBE_RTT
        self.prior_cwnd = max(0 if is_untouched else self.prior_cwnd, conn.cwnd)

    def set_cwnd(self, conn: Conn, ack: Ack, bw: int) -> None:
        acked, cwnd = ack.acked_sacked, conn.cwnd
        if acked > 0:
            cwnd = self.recovered(conn, ack, cwnd)
            if not self.conserves:
                allowance = min(max(self.extra), self.bw() * 100_000 // BW_UNIT) if self.full_pipe else 0
                target = self.with_budget(conn, self.bdp(bw, self.cwnd_gain, allowance * BW_UNIT))
                if self.full_pipe:
                    cwnd = min(cwnd + acked, target)
                elif cwnd < target or conn.delivered < INITIAL_CWND:
                    cwnd += acked
                cwnd = max(cwnd, MIN_CWND)
        cwnd = min(cwnd, conn.cwnd_clamp)
        conn.cwnd = min(cwnd, MIN_CWND) if self.mode == PROBE_RTT else cwnd

    def recovered(self, conn: Conn, ack: Ack, cwnd: int) -> int:
        """The window after what losses do to it: the first round of recovery conserves packets."""
        if ack.losses > 0:
            cwnd = max(cwnd - ack.losses, 1)
        state, before = conn.ca_state, self.previous_state
        if state != before:
            if state == CaState.RECOVERY:
                self.conserves = True
                self.next_delivered = conn.delivered
                cwnd = conn.in_flight + ack.acked_sacked
            elif before >= CaState.RECOVERY > state:
                self.restores = True
                self.conserves = False
            self.previous_state = state
        if self.restores:
            self.restores = False
            cwnd = max(cwnd, self.prior_cwnd)
        return max(cwnd, conn.in_flight + ack.acked_sacked) if self.conserves else cwnd

    # -- policers -------------------------------------------------------------------------------------------------

    def reset_policer(self, conn: Conn) -> None:
        self.policed = self.sampling = False
        self.policer_bw = 0
        self.start_interval(conn)

    def start_interval(self, conn: Conn) -> None:
        self.interval_ms = conn.delivered_mstamp_us // 1000
        self.interval_delivered, self.interval_lost = conn.delivered, conn.lost
        self.policer_rounds = 0

    def sample_policer(self, conn: Conn, losses: int, is_app_limited: bool) -> None:
        if self.policed:
            if self.mode == PROBE_BW and self.round_start:
                self.policer_rounds += 1
                if self.policer_rounds >= 48:
                    self.reset_policer(conn)
                    self.enter_probe_bw(conn)
            return
        if not self.sampling:
            if losses == 0:
                return
            self.start_interval(conn)
            self.sampling = True
        if is_app_limited:
            self.reset_policer(conn)
            return
        self.policer_rounds += self.round_start
        if self.policer_rounds < 4:
            return
        if self.policer_rounds > 16:
            self.reset_policer(conn)
            return
        if losses == 0:
            return
        lost, delivered = conn.lost - self.interval_lost, conn.delivered - self.interval_delivered
        if delivered == 0 or lost * UNIT < 50 * delivered:
            return
        span_ms = conn.delivered_mstamp_us // 1000 - self.interval_ms
        if span_ms < 1:
            return
        if span_ms >= UNKNOWN // 1000:
            self.reset_policer(conn)
            return
        bw = delivered * BW_UNIT // (span_ms * 1000)
        if self.policer_bw:
            difference = abs(bw - self.policer_bw)
            if difference * UNIT <= 32 * self.policer_bw or self.rate(conn, difference, UNIT) <= 500:
                self.policer_bw = (bw + self.policer_bw) >> 1
                self.policed = True
                self.policer_rounds = 0
                self.pacing_gain = UNIT
                return
        self.policer_bw = bw
        self.start_interval(conn)
