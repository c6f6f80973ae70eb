/* SPDX-License-Identifier: MIT OR GPL-2.0-only */

/*
 * BBR version 1 as of Linux 4.14, without what its variants decide otherwise. A variant declares `struct variant`,
 * includes this file and defines the functions that are declared here as its own. The simulator's BBR is
 * crates/cc/src/bbr1.
 */

#pragma once

#include "tcp.h"

/* Bandwidths are packets per microsecond times 2^24, gains 1/256. */
#define BW_LOG2 24
#define GAIN_ONE 256
#define HIGH_GAIN 739
#define DRAIN_GAIN 88
#define WINDOW_GAIN 512
#define PROBE_GAIN 320
#define PHASES 8
#define RANDOM_PHASES 7
#define BW_ROUNDS 10
#define MIN_WINDOW 4
#define MIN_RTT_WINDOW_MS 10000
#define PROBE_RTT_DWELL_MS 200
#define FULL_ROUNDS 3
/* LT: the long-term sampler, which looks for a policer. */
#define LT_MIN_ROUNDS 4
#define LT_MAX_ROUNDS 16
#define LT_USE_ROUNDS 48
#define LT_LOSS_THRESHOLD 50
/* Bytes per second. */
#define LT_DIFFERENCE 500
#define SLOW_RATE 150000
#define BURST_BYTES 65215
#define BURST_PACKETS 127
#define NOMINAL_RTT_US 1000

enum { STARTUP, DRAIN, PROBE_BW, PROBE_RTT };
/* PROBE_BW by its gain. */
enum { PROBE_UP = PROBE_RTT + 1, PROBE_DOWN, PROBE_CRUISE };

/* The state of a connection. The kernel sets it to zero before it is initialised. */
struct bbr {
	/* The best bandwidth of the last rounds and its two successors. */
	struct {
		u32 round;
		u32 bw;
	} best[3];
	u32 round;
	u32 next_delivered;
	u32 min_rtt_us;
	u32 min_rtt_ms;
	u32 probe_rtt_done_ms;
	u32 cycle_start_us;
	u32 full_bw;
	u32 prior_cwnd;
	u32 lt_bw;
	u32 lt_start_ms;
	u32 lt_delivered;
	u32 lt_lost;
	u16 pacing_gain;
	u16 cwnd_gain;
	u8 mode;
	u8 phase;
	/* Of the kernel's enum tcp_ca_state: the present one, and that of the last ACK that delivered something. */
	u8 ca_state;
	u8 previous_state;
	u8 full_rounds;
	u8 lt_rounds;
	u8 is_initialised : 1, round_started : 1, full_pipe : 1, policed : 1;
	u8 lt_sampling : 1, is_first_rate_nominal : 1, idle_restart : 1, packet_conservation : 1;
	u8 probe_rtt_round_done : 1, restore_pending : 1;
	/* A bit for each mode and each phase of PROBE_BW that there has been. */
	u8 passed;
	struct variant variant;
};

_Static_assert(sizeof(struct bbr) <= STATE_BYTES, "the kernel has no more room in a connection");

/* What the variant defines: */

/* A window with what bursts need on top of it. `gain` is that of the window. */
INLINE u32 with_budget(struct tcp_sock *tcp, struct bbr *bbr, u32 window, u32 gain);
/* Moves through the phases of PROBE_BW. */
INLINE void update_cycle(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample);
/* Takes an ACK that delivered something into the estimate of ACKs that run ahead. */
INLINE void measure_aggregation(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample);
/* Packets to add to the window for such ACKs. */
INLINE u32 aggregation_allowance(struct bbr *bbr);
INLINE u32 extra_acked(struct bbr *bbr);
/* Sets the window for losses and the state of recovery; whether ordinary growth must not follow. */
INLINE bool recover(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample);
/* PROBE_RTT is over. */
INLINE void restore_after_probe_rtt(struct bbr *bbr);
/* A connection restarts from idle. */
INLINE void restart_aggregation(struct tcp_sock *tcp, struct bbr *bbr);

INLINE u32 clock_ms(struct tcp_sock *tcp)
{
	return tcp->tcp_mstamp / 1000;
}

INLINE u32 delivered_ms(struct tcp_sock *tcp)
{
	return tcp->delivered_mstamp / 1000;
}

INLINE u32 delivery_rate(u64 packets, u64 us)
{
	return (packets << BW_LOG2) / us;
}

INLINE u32 max_bw(struct bbr *bbr)
{
	return bbr->best[0].bw;
}

/* The bandwidth that everything follows from: a policer's, if one was found. */
INLINE u32 model_bw(struct bbr *bbr)
{
	return bbr->policed ? bbr->lt_bw : max_bw(bbr);
}

INLINE u64 bytes_per_second(struct tcp_sock *tcp, u32 bw, u32 gain)
{
	u64 per_us = (u64)bw * tcp->mss_cache * gain >> 8;

	return per_us * 1000000 >> BW_LOG2;
}

/* The maximum over a window of rounds (Nichols' filter): a new one replaces all, an old one gives way to the next. */
INLINE void update_max_bw(struct bbr *bbr, u32 bw)
{
	u32 round = bbr->round;

	if (bw >= bbr->best[0].bw || round - bbr->best[2].round > BW_ROUNDS) {
		for (int i = 0; i < 3; i++) {
			bbr->best[i].round = round;
			bbr->best[i].bw = bw;
		}
		return;
	}
	if (bw >= bbr->best[1].bw) {
		bbr->best[1].round = round;
		bbr->best[1].bw = bw;
	}
	if (bw >= bbr->best[2].bw) {
		bbr->best[2].round = round;
		bbr->best[2].bw = bw;
	}
	u32 age = round - bbr->best[0].round;

	if (age > BW_ROUNDS) {
		for (int i = 0; i < 2; i++) {
			if (round - bbr->best[0].round <= BW_ROUNDS)
				break;
			bbr->best[0] = bbr->best[1];
			bbr->best[1] = bbr->best[2];
			bbr->best[2].round = round;
			bbr->best[2].bw = bw;
		}
	} else if (bbr->best[1].round == bbr->best[0].round && age > BW_ROUNDS / 4) {
		bbr->best[1].round = bbr->best[2].round = round;
		bbr->best[1].bw = bbr->best[2].bw = bw;
	} else if (bbr->best[2].round == bbr->best[1].round && age > BW_ROUNDS / 2) {
		bbr->best[2].round = round;
		bbr->best[2].bw = bw;
	}
}

/* Packets in one burst of the sender at its present rate. */
INLINE u32 burst(struct tcp_sock *tcp)
{
	u64 rate = SOCK(tcp)->sk_pacing_rate;
	u64 bytes = rate >> SOCK(tcp)->sk_pacing_shift;

	if (bytes > BURST_BYTES)
		bytes = BURST_BYTES;
	return smaller(larger(bytes / tcp->mss_cache, rate < SLOW_RATE ? 1 : 2), BURST_PACKETS);
}

INLINE u32 bdp(struct bbr *bbr, u32 bw, u32 gain)
{
	if (bbr->min_rtt_us == UNKNOWN_RTT)
		return INITIAL_WINDOW;
	u64 scaled = (u64)bw * bbr->min_rtt_us * gain >> 8;

	return (scaled + (1 << BW_LOG2) - 1) >> BW_LOG2;
}

/* The amount to have in flight for `gain` BDP. */
INLINE u32 inflight_target(struct tcp_sock *tcp, struct bbr *bbr, u32 bw, u32 gain)
{
	return with_budget(tcp, bbr, bdp(bbr, bw, gain), gain);
}

INLINE void set_pacing_rate(struct tcp_sock *tcp, u64 rate)
{
	u64 most = SOCK(tcp)->sk_max_pacing_rate;

	SOCK(tcp)->sk_pacing_rate = rate < most ? rate : most;
}

/* The first rate: a window per round-trip time, measured or nominal. */
INLINE void set_first_pacing_rate(struct tcp_sock *tcp, struct bbr *bbr)
{
	u32 rtt_us = tcp->srtt_us >> 3;

	bbr->is_first_rate_nominal = tcp->srtt_us == 0;
	rtt_us = tcp->srtt_us == 0 ? NOMINAL_RTT_US : larger(rtt_us, 1);
	set_pacing_rate(tcp, bytes_per_second(tcp, delivery_rate(tcp->snd_cwnd, rtt_us), HIGH_GAIN));
}

/* Before the pipe is full the rate only rises, because early samples are too low. */
INLINE void update_pacing_rate(struct tcp_sock *tcp, struct bbr *bbr, u32 gain)
{
	u64 rate = bytes_per_second(tcp, model_bw(bbr), gain);

	if (bbr->is_first_rate_nominal && tcp->srtt_us)
		set_first_pacing_rate(tcp, bbr);
	if (bbr->full_pipe || rate > SOCK(tcp)->sk_pacing_rate)
		set_pacing_rate(tcp, rate);
}

INLINE void save_window(struct tcp_sock *tcp, struct bbr *bbr)
{
	bool is_untouched = bbr->previous_state < STATE_RECOVERY && bbr->mode != PROBE_RTT;

	bbr->prior_cwnd = is_untouched ? tcp->snd_cwnd : larger(bbr->prior_cwnd, tcp->snd_cwnd);
}

/* The long-term sampler: intervals that begin and end with losses, and lose a fifth. */

INLINE void start_lt_interval(struct tcp_sock *tcp, struct bbr *bbr)
{
	bbr->lt_start_ms = delivered_ms(tcp);
	bbr->lt_delivered = tcp->delivered;
	bbr->lt_lost = tcp->lost;
	bbr->lt_rounds = 0;
}

INLINE void reset_lt(struct tcp_sock *tcp, struct bbr *bbr)
{
	bbr->lt_bw = 0;
	bbr->policed = 0;
	bbr->lt_sampling = 0;
	start_lt_interval(tcp, bbr);
}

INLINE u32 cycle_gain(struct bbr *bbr)
{
	return bbr->phase == 0 ? PROBE_GAIN : bbr->phase == 1 ? 192 : GAIN_ONE;
}

/* Enters PROBE_BW at any phase but the draining one. */
INLINE void enter_probe_bw(struct tcp_sock *tcp, struct bbr *bbr)
{
	u32 drawn = (u64)get_prandom_u32() * RANDOM_PHASES >> 32;

	bbr->mode = PROBE_BW;
	bbr->phase = (PHASES - drawn) % PHASES;
	bbr->cycle_start_us = tcp->delivered_mstamp;
}

/* An interval with heavy loss delivered at `bw`: is it the rate of the interval before? */
INLINE void end_lt_interval(struct tcp_sock *tcp, struct bbr *bbr, u32 bw)
{
	u32 before = bbr->lt_bw;

	if (before) {
		u32 difference = bw > before ? bw - before : before - bw;

		if ((u64)difference * 8 <= before || bytes_per_second(tcp, difference, GAIN_ONE) <= LT_DIFFERENCE) {
			bbr->lt_bw = ((u64)bw + before) >> 1;
			bbr->policed = 1;
			bbr->pacing_gain = GAIN_ONE;
			bbr->lt_rounds = 0;
			return;
		}
	}
	bbr->lt_bw = bw;
	start_lt_interval(tcp, bbr);
}

INLINE void sample_lt(struct tcp_sock *tcp, struct bbr *bbr, bool has_losses, bool is_app_limited)
{
	if (bbr->policed) {
		if (bbr->mode == PROBE_BW && bbr->round_started && ++bbr->lt_rounds >= LT_USE_ROUNDS) {
			reset_lt(tcp, bbr);
			enter_probe_bw(tcp, bbr);
		}
		return;
	}
	if (!bbr->lt_sampling) {
		if (!has_losses)
			return;
		start_lt_interval(tcp, bbr);
		bbr->lt_sampling = 1;
	}
	if (is_app_limited) {
		reset_lt(tcp, bbr);
		return;
	}
	if (bbr->round_started)
		bbr->lt_rounds++;
	if (bbr->lt_rounds < LT_MIN_ROUNDS)
		return;
	if (bbr->lt_rounds > LT_MAX_ROUNDS) {
		reset_lt(tcp, bbr);
		return;
	}
	u32 lost = tcp->lost - bbr->lt_lost;
	u32 delivered = tcp->delivered - bbr->lt_delivered;
	u32 span_ms = delivered_ms(tcp) - bbr->lt_start_ms;

	if (!has_losses || !delivered || (u64)lost * GAIN_ONE < (u64)LT_LOSS_THRESHOLD * delivered || (s32)span_ms < 1)
		return;
	end_lt_interval(tcp, bbr, delivery_rate(delivered, (u64)span_ms * 1000));
}

INLINE void update_bw(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample)
{
	if ((s32)(sample->prior_delivered - bbr->next_delivered) >= 0) {
		bbr->next_delivered = tcp->delivered;
		bbr->round++;
		bbr->round_started = 1;
		bbr->packet_conservation = 0;
	}
	sample_lt(tcp, bbr, sample->losses > 0, sample->is_app_limited);
	u32 bw = delivery_rate(sample->delivered, sample->interval_us);

	/* A rate that the application held down says nothing, unless it exceeds the estimate all the same. */
	if (!sample->is_app_limited || bw >= max_bw(bbr))
		update_max_bw(bbr, bw);
}

/* STARTUP ends when three rounds in a row did not raise the bandwidth by a quarter. */
INLINE void check_full_pipe(struct bbr *bbr, struct rate_sample *sample)
{
	if (bbr->full_pipe || !bbr->round_started || sample->is_app_limited)
		return;
	if (max_bw(bbr) >= (u64)bbr->full_bw * 5 / 4) {
		bbr->full_bw = max_bw(bbr);
		bbr->full_rounds = 0;
		return;
	}
	if (++bbr->full_rounds >= FULL_ROUNDS)
		bbr->full_pipe = 1;
}

INLINE void pass(struct bbr *bbr, u32 phase)
{
	bbr->passed |= 1 << phase;
}

INLINE void check_drain(struct tcp_sock *tcp, struct bbr *bbr)
{
	if (bbr->mode == STARTUP && bbr->full_pipe) {
		bbr->mode = DRAIN;
		/* It may be over with this very ACK. */
		pass(bbr, DRAIN);
		tcp->snd_ssthresh = inflight_target(tcp, bbr, max_bw(bbr), GAIN_ONE);
	}
	if (bbr->mode == DRAIN && in_flight(tcp) <= inflight_target(tcp, bbr, max_bw(bbr), GAIN_ONE))
		enter_probe_bw(tcp, bbr);
}

INLINE void dwell_in_probe_rtt(struct tcp_sock *tcp, struct bbr *bbr)
{
	u32 now = clock_ms(tcp);

	/* Rates are low on purpose here: they must not be taken for the path's. */
	tcp->app_limited = larger(tcp->delivered + in_flight(tcp), 1);
	if (!bbr->probe_rtt_done_ms) {
		if (in_flight(tcp) > MIN_WINDOW)
			return;
		bbr->probe_rtt_done_ms = larger(now + PROBE_RTT_DWELL_MS, 1);
		bbr->probe_rtt_round_done = 0;
		bbr->next_delivered = tcp->delivered;
		return;
	}
	if (bbr->round_started)
		bbr->probe_rtt_round_done = 1;
	if (!bbr->probe_rtt_round_done || (s32)(now - bbr->probe_rtt_done_ms) <= 0)
		return;
	bbr->min_rtt_ms = now;
	restore_after_probe_rtt(bbr);
	if (bbr->full_pipe)
		enter_probe_bw(tcp, bbr);
	else
		bbr->mode = STARTUP;
}

INLINE void update_min_rtt(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample)
{
	u32 now = clock_ms(tcp);
	bool is_expired = (s32)(now - bbr->min_rtt_ms) > MIN_RTT_WINDOW_MS;

	if (sample->rtt_us >= 0 && ((u64)sample->rtt_us <= bbr->min_rtt_us || is_expired)) {
		bbr->min_rtt_us = sample->rtt_us;
		bbr->min_rtt_ms = now;
	}
	if (is_expired && !bbr->idle_restart && bbr->mode != PROBE_RTT) {
		bbr->mode = PROBE_RTT;
		save_window(tcp, bbr);
		bbr->probe_rtt_done_ms = 0;
	}
	if (bbr->mode == PROBE_RTT)
		dwell_in_probe_rtt(tcp, bbr);
	bbr->idle_restart = 0;
}

INLINE void set_gains(struct bbr *bbr)
{
	switch (bbr->mode) {
	case STARTUP:
		bbr->pacing_gain = HIGH_GAIN;
		bbr->cwnd_gain = HIGH_GAIN;
		break;
	case DRAIN:
		bbr->pacing_gain = DRAIN_GAIN;
		bbr->cwnd_gain = HIGH_GAIN;
		break;
	case PROBE_BW:
		bbr->pacing_gain = bbr->policed ? GAIN_ONE : cycle_gain(bbr);
		bbr->cwnd_gain = WINDOW_GAIN;
		break;
	default:
		bbr->pacing_gain = GAIN_ONE;
		bbr->cwnd_gain = GAIN_ONE;
	}
	pass(bbr, bbr->mode);
	if (bbr->mode == PROBE_BW)
		pass(bbr, bbr->pacing_gain > GAIN_ONE   ? PROBE_UP
			  : bbr->pacing_gain < GAIN_ONE ? PROBE_DOWN
							: PROBE_CRUISE);
}

INLINE void set_window(struct tcp_sock *tcp, struct bbr *bbr, struct rate_sample *sample)
{
	u32 acked = sample->acked_sacked;

	if (!acked)
		return;
	if (!recover(tcp, bbr, sample)) {
		u32 model = bdp(bbr, model_bw(bbr), bbr->cwnd_gain);
		u32 allowance = bbr->full_pipe ? aggregation_allowance(bbr) : 0;
		u32 target = with_budget(tcp, bbr, model + allowance, bbr->cwnd_gain);
		u32 cwnd = tcp->snd_cwnd;

		if (bbr->full_pipe)
			cwnd = smaller(cwnd + acked, target);
		else if (cwnd < target || tcp->delivered < INITIAL_WINDOW)
			cwnd += acked;
		tcp->snd_cwnd = larger(cwnd, MIN_WINDOW);
	}
	u32 most = tcp->snd_cwnd_clamp;

	if (bbr->mode == PROBE_RTT)
		most = smaller(most, MIN_WINDOW);
	tcp->snd_cwnd = smaller(tcp->snd_cwnd, most);
}

INLINE void report_state(struct tcp_sock *tcp, struct bbr *bbr)
{
	struct report *report = ringbuf_reserve(&reports, sizeof(*report), 0);

	if (!report)
		return;
	report->time_ns = ktime_get_ns();
	report->bw = model_bw(bbr);
	report->max_bw = max_bw(bbr);
	report->policed_bw = bbr->policed ? bbr->lt_bw : 0;
	report->min_rtt_us = bbr->min_rtt_us;
	report->round = bbr->round;
	report->extra_acked = extra_acked(bbr);
	report->prior_cwnd = bbr->prior_cwnd;
	report->mss = tcp->mss_cache;
	report->pacing_gain = bbr->pacing_gain;
	report->cwnd_gain = bbr->cwnd_gain;
	report->port = SOCK(tcp)->__sk_common.skc_num;
	report->mode = bbr->mode;
	report->phase = bbr->phase;
	report->full_pipe = bbr->full_pipe;
	report->passed = bbr->passed;
	ringbuf_submit(report, NO_WAKEUP);
}

/* The programs. */

void init(u64 *arguments)
{
	struct tcp_sock *tcp = CONNECTION(arguments);
	struct bbr *bbr = STATE(tcp);

	bbr->next_delivered = tcp->delivered;
	bbr->min_rtt_us = tcp->rtt_min.s[0].v;
	bbr->min_rtt_ms = clock_ms(tcp);
	reset_lt(tcp, bbr);
	restart_aggregation(tcp, bbr);
	set_first_pacing_rate(tcp, bbr);
	if (SOCK(tcp)->sk_pacing_status == PACING_NONE)
		SOCK(tcp)->sk_pacing_status = PACING_NEEDED;
	tcp->snd_ssthresh = INFINITE_SSTHRESH;
	bbr->is_initialised = 1;
}

void cong_control(u64 *arguments)
{
	struct tcp_sock *tcp = CONNECTION(arguments);
	struct rate_sample *sample = (struct rate_sample *)arguments[3];
	struct bbr *bbr = STATE(tcp);

	/* The ACK of the SYN comes before the start. */
	if (!bbr->is_initialised)
		return;
	bool has_rate = sample->delivered >= 0 && sample->interval_us > 0;

	bbr->round_started = 0;
	if (has_rate) {
		update_bw(tcp, bbr, sample);
		if (sample->acked_sacked)
			measure_aggregation(tcp, bbr, sample);
	}
	if (bbr->mode == PROBE_BW) {
		update_cycle(tcp, bbr, sample);
	} else {
		check_full_pipe(bbr, sample);
		check_drain(tcp, bbr);
	}
	update_min_rtt(tcp, bbr, sample);
	set_gains(bbr);
	update_pacing_rate(tcp, bbr, bbr->pacing_gain);
	set_window(tcp, bbr, sample);
	report_state(tcp, bbr);
}

u32 ssthresh(u64 *arguments)
{
	struct tcp_sock *tcp = CONNECTION(arguments);

	save_window(tcp, STATE(tcp));
	return tcp->snd_ssthresh;
}

u32 undo_cwnd(u64 *arguments)
{
	return CONNECTION(arguments)->snd_cwnd;
}

u32 sndbuf_expand(u64 *arguments)
{
	/* It may slow-start even in recovery. */
	return 3;
}

void set_state(u64 *arguments)
{
	struct tcp_sock *tcp = CONNECTION(arguments);
	struct bbr *bbr = STATE(tcp);

	bbr->ca_state = arguments[1];
	if (bbr->ca_state != STATE_LOSS || !bbr->is_initialised)
		return;
	/* A timeout ends the round, and its loss is evidence for the policer's sampler. */
	bbr->previous_state = STATE_LOSS;
	bbr->full_bw = 0;
	bbr->round_started = 1;
	sample_lt(tcp, bbr, 1, 0);
}

void cwnd_event(u64 *arguments)
{
	struct tcp_sock *tcp = CONNECTION(arguments);
	struct bbr *bbr = STATE(tcp);

	if ((u32)arguments[1] != EVENT_TX_START || !tcp->app_limited || !bbr->is_initialised)
		return;
	bbr->idle_restart = 1;
	restart_aggregation(tcp, bbr);
	/* Restarting at the bandwidth itself: the pipe is empty, probing can wait. */
	if (bbr->mode == PROBE_BW)
		update_pacing_rate(tcp, bbr, GAIN_ONE);
}
