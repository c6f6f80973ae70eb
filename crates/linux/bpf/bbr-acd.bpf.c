/* SPDX-License-Identifier: MIT OR GPL-2.0-only */

/*
 * BBR-ACD as its authors' kernel code does it, on BBR of Linux 4.14: a loss cuts the window when round-trip times say
 * that the queue is full. Described in "BBR-ACD: BBR with Advanced Congestion Detection".
 */

#include "tcp.h"

/* Round-trip times that differ by at most this are alike. */
#define TOLERANCE_US 1000
/* So many of them that are like the one before reveal a full queue, and so does one above this many minima. */
#define REPETITIONS 2
#define RTT_FACTOR 2

struct variant {
	s32 previous_rtt_us;
	u8 repetitions;
};

#include "bbr.h"

INLINE u32 with_budget(struct tcp_sock *tcp, struct bbr *bbr, u32 window, u32 gain)
{
	window = (window + 3 * burst(tcp) + 1) & ~1u;
	return bbr->mode == PROBE_BW && gain > GAIN_ONE ? window + 2 : window;
}

INLINE void update_cycle(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample)
{
	bool is_over = (u32)tcp->delivered_mstamp - bbr->cycle_start_us > bbr->min_rtt_us;
	u32 target = inflight_target(tcp, bbr, max_bw(bbr), bbr->pacing_gain);

	if (bbr->policed)
		return;
	if (bbr->pacing_gain > GAIN_ONE)
		is_over = is_over && (sample->losses > 0 || sample->prior_in_flight >= target);
	else if (bbr->pacing_gain < GAIN_ONE)
		is_over = is_over ||
			  sample->prior_in_flight <= inflight_target(tcp, bbr, max_bw(bbr), GAIN_ONE);
	if (is_over) {
		bbr->phase = (bbr->phase + 1) % PHASES;
		bbr->cycle_start_us = tcp->delivered_mstamp;
	}
}

/* Takes a round-trip time in (-1 is none); whether it reveals congestion. */
INLINE bool is_congested(struct bbr *bbr, s64 rtt_us)
{
	s32 previous_us = bbr->variant.previous_rtt_us;
	/* The original subtracts the tolerance without a sign: below it nothing is ever alike. */
	bool is_alike = previous_us >= TOLERANCE_US && rtt_us - previous_us <= TOLERANCE_US &&
			previous_us - rtt_us <= TOLERANCE_US;

	bbr->variant.previous_rtt_us = rtt_us;
	if (rtt_us > bbr->min_rtt_us && is_alike)
		bbr->variant.repetitions = smaller(bbr->variant.repetitions + 1, REPETITIONS);
	else
		bbr->variant.repetitions = 0;
	return bbr->variant.repetitions >= REPETITIONS || rtt_us > (s64)RTT_FACTOR * bbr->min_rtt_us;
}

INLINE bool recover(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample)
{
	u32 cwnd = tcp->snd_cwnd;
	bool congested = is_congested(bbr, sample->rtt_us);

	if (sample->losses > 0)
		cwnd = cwnd > (u32)sample->losses ? cwnd - sample->losses : 1;
	if (congested && bbr->ca_state == STATE_RECOVERY && bbr->previous_state != STATE_RECOVERY) {
		bbr->packet_conservation = 1;
		bbr->next_delivered = tcp->delivered;
	} else if (bbr->previous_state >= STATE_RECOVERY && bbr->ca_state < STATE_RECOVERY) {
		cwnd = larger(cwnd, bbr->prior_cwnd);
		bbr->packet_conservation = 0;
	}
	bbr->previous_state = bbr->ca_state;
	if (bbr->packet_conservation) {
		u32 most = inflight_target(tcp, bbr, model_bw(bbr), GAIN_ONE);

		cwnd = larger(smaller(cwnd / 2, most), MIN_WINDOW);
	}
	tcp->snd_cwnd = cwnd;
	return bbr->packet_conservation;
}

/* What the original remembers for the window after PROBE_RTT it never uses. */
INLINE void restore_after_probe_rtt(struct bbr *bbr)
{
}

/* BBR of Linux 4.14 makes no allowance for aggregated ACKs. */

INLINE void measure_aggregation(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample)
{
}

INLINE u32 aggregation_allowance(struct bbr *bbr)
{
	return 0;
}

INLINE u32 extra_acked(struct bbr *bbr)
{
	return 0;
}

INLINE void restart_aggregation(struct tcp_sock *tcp, struct bbr *bbr)
{
}
