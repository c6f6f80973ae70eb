/* SPDX-License-Identifier: MIT OR GPL-2.0-only */

/*
 * BBRPlus as its kernel module does it, on BBR of Linux 4.14: a cycle of random length probes, drains until the queue
 * is gone, and cruises for the rest. Described in Zhang et al., "An Evaluation of BBR and its Variants".
 */

#include "tcp.h"

/* Rounds of a slot of the maximum of aggregated ACKs. */
#define SLOT_ROUNDS 10
#define EPOCH_PACKETS (1 << 20)
#define AGGREGATION_CAP_US 100000

enum { PHASE_PROBE, PHASE_DRAIN, PHASE_CRUISE };

struct variant {
	u32 epoch_start_us;
	u32 epoch_acked;
	u16 extra_acked[2];
	u8 slot;
	u8 slot_rounds;
	/* Of the cycle, in minimum round-trip times. */
	u8 length;
};

#include "bbr.h"

INLINE u32 with_budget(struct tcp_sock *tcp, struct bbr *bbr, u32 window, u32 gain)
{
	return window + 3 * burst(tcp);
}

/* Whether probing has shown what it can. */
INLINE bool must_drain(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample)
{
	bool has_no_data = !SOCK(tcp)->sk_send_head;
	s32 window_left = tcp->snd_una + tcp->snd_wnd - tcp->snd_nxt;
	bool has_no_window = window_left < (s32)tcp->mss_cache;
	u32 target = inflight_target(tcp, bbr, max_bw(bbr), PROBE_GAIN);

	return sample->prior_in_flight >= target || sample->losses > 0 || sample->is_app_limited || has_no_data ||
	       has_no_window;
}

INLINE void update_cycle(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample)
{
	u32 elapsed_us = (u32)tcp->delivered_mstamp - bbr->cycle_start_us;

	if (elapsed_us > (u64)bbr->variant.length * bbr->min_rtt_us) {
		u32 drawn = (u64)get_prandom_u32() * RANDOM_PHASES >> 32;

		bbr->cycle_start_us = tcp->delivered_mstamp;
		bbr->variant.length = PHASES - drawn;
		bbr->phase = PHASE_PROBE;
	} else if (bbr->pacing_gain < GAIN_ONE) {
		if (sample->prior_in_flight <= inflight_target(tcp, bbr, max_bw(bbr), GAIN_ONE))
			bbr->phase = PHASE_CRUISE;
	} else if (bbr->pacing_gain > GAIN_ONE && elapsed_us > bbr->min_rtt_us && must_drain(tcp, bbr, sample)) {
		bbr->phase = PHASE_DRAIN;
	}
}

INLINE void restart_aggregation(struct tcp_sock *tcp, struct bbr *bbr)
{
	bbr->variant.epoch_start_us = tcp->tcp_mstamp;
	bbr->variant.epoch_acked = 0;
}

INLINE void measure_aggregation(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample)
{
	struct variant *variant = &bbr->variant;
	u32 elapsed_us = (u32)tcp->delivered_mstamp - variant->epoch_start_us;
	u64 expected = (u64)model_bw(bbr) * elapsed_us >> BW_LOG2;

	if (bbr->round_started && ++variant->slot_rounds >= SLOT_ROUNDS) {
		variant->slot_rounds = 0;
		variant->slot ^= 1;
		if (variant->slot)
			variant->extra_acked[1] = 0;
		else
			variant->extra_acked[0] = 0;
	}
	if (variant->epoch_acked <= expected || variant->epoch_acked + sample->acked_sacked >= EPOCH_PACKETS) {
		variant->epoch_acked = 0;
		variant->epoch_start_us = tcp->delivered_mstamp;
		expected = 0;
	}
	variant->epoch_acked = smaller(variant->epoch_acked + sample->acked_sacked, EPOCH_PACKETS - 1);
	u32 excess = smaller(smaller(variant->epoch_acked - expected, tcp->snd_cwnd), 0xffff);

	if (variant->slot)
		variant->extra_acked[1] = larger(variant->extra_acked[1], excess);
	else
		variant->extra_acked[0] = larger(variant->extra_acked[0], excess);
}

INLINE u32 extra_acked(struct bbr *bbr)
{
	return larger(bbr->variant.extra_acked[0], bbr->variant.extra_acked[1]);
}

INLINE u32 aggregation_allowance(struct bbr *bbr)
{
	return smaller(extra_acked(bbr), (u64)model_bw(bbr) * AGGREGATION_CAP_US >> BW_LOG2);
}

INLINE bool recover(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample)
{
	u32 cwnd = tcp->snd_cwnd;
	u32 conserved = in_flight(tcp) + sample->acked_sacked;

	if (sample->losses > 0)
		cwnd = cwnd > (u32)sample->losses ? cwnd - sample->losses : 1;
	if (bbr->ca_state == STATE_RECOVERY && bbr->previous_state != STATE_RECOVERY) {
		bbr->packet_conservation = 1;
		bbr->next_delivered = tcp->delivered;
		cwnd = conserved;
	} else if (bbr->previous_state >= STATE_RECOVERY && bbr->ca_state < STATE_RECOVERY) {
		bbr->restore_pending = 1;
		bbr->packet_conservation = 0;
	}
	bbr->previous_state = bbr->ca_state;
	if (bbr->restore_pending) {
		bbr->restore_pending = 0;
		cwnd = larger(cwnd, bbr->prior_cwnd);
	}
	tcp->snd_cwnd = bbr->packet_conservation ? larger(cwnd, conserved) : cwnd;
	return bbr->packet_conservation;
}

INLINE void restore_after_probe_rtt(struct bbr *bbr)
{
	bbr->restore_pending = 1;
}
