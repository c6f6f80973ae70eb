/* SPDX-License-Identifier: MIT OR GPL-2.0-only */

/*
 * What a congestion-control program sees of the kernel: its calls, the fields of a connection that are used here, and the
 * report to Dumbbell.
 *
 * A program is a function with the name of the member of `struct tcp_congestion_ops` that it fills. Structures list only
 * fields that are used, in any order: the loader finds their places in the running kernel by name (CO-RE).
 */

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef _Bool bool;

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

/* The kernel takes these programs only under a licence that goes with its own; this one is the MIT licence, too. */
char _license[] SECTION("license") = "Dual MIT/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	u16 skc_num;
};

struct sock {
	struct sock_common __sk_common;
	void *sk_send_head;
	u64 sk_pacing_rate;
	u64 sk_max_pacing_rate;
	u32 sk_pacing_status;
	u8 sk_pacing_shift;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u64 icsk_ca_priv[13];
};

struct minmax_sample {
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 app_limited;
	u32 delivered;
	u64 delivered_mstamp;
	u8 is_cwnd_limited : 1;
	u32 lost;
	u32 lost_out;
	u32 max_packets_out;
	u32 mss_cache;
	u32 packets_out;
	u32 prior_cwnd;
	u32 retrans_out;
	struct minmax rtt_min;
	u32 sacked_out;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_cnt;
	u32 snd_nxt;
	u32 snd_ssthresh;
	u32 snd_una;
	u32 snd_wnd;
	u32 srtt_us;
	u64 tcp_mstamp;
};

struct rate_sample {
	u32 acked_sacked;
	s32 delivered;
	s64 interval_us;
	bool is_app_limited;
	s32 losses;
	u32 prior_delivered;
	u32 prior_in_flight;
	s64 rtt_us;
};

#pragma clang attribute pop

/* enum tcp_ca_state and enum tcp_ca_event, as far as they are used. */
enum { STATE_RECOVERY = 3, STATE_LOSS = 4 };
enum { EVENT_TX_START = 0 };
/* enum sk_pacing */
enum { PACING_NONE = 0, PACING_NEEDED = 1 };

#define INFINITE_SSTHRESH 0x7fffffff
#define UNKNOWN_RTT 0xffffffff
#define INITIAL_WINDOW 10

/* Arguments of a program arrive as an array; the connection is the first. */
#define CONNECTION(arguments) ((struct tcp_sock *)(arguments)[0])
/* Bytes that a congestion-control algorithm may keep in a connection. */
#define STATE_BYTES 104
#define STATE(tcp) ((void *)(tcp)->inet_conn.icsk_ca_priv)
#define SOCK(tcp) (&(tcp)->inet_conn.icsk_inet.sk)

/* A bit field of one byte; where it lies there, the loader fills in. */
#define BITS(structure, field)                                                                                         \
	((u64)*(u8 *)((void *)(structure) + __builtin_preserve_field_info((structure)->field, 0))                      \
		 << __builtin_preserve_field_info((structure)->field, 4) >>                                            \
	 __builtin_preserve_field_info((structure)->field, 5))

/* Calls into the kernel, by their numbers (enum bpf_func_id). */
static u64 (*const ktime_get_ns)(void) = (void *)5;
static u32 (*const get_prandom_u32)(void) = (void *)7;
static void *(*const ringbuf_reserve)(void *ring, u64 bytes, u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *record, u64 flags) = (void *)132;

/* Nobody waits for a report: it is collected now and then. */
#define NO_WAKEUP 1

/* The state of a connection after an ACK, as crates/linux/src/bpf/reports.rs reads it. */
struct report {
	u64 time_ns;
	/* Packets per microsecond times 2^24. */
	u32 bw;
	u32 max_bw;
	u32 policed_bw;
	u32 min_rtt_us;
	u32 round;
	u32 extra_acked;
	u32 prior_cwnd;
	u32 mss;
	/* In 1/256. */
	u16 pacing_gain;
	u16 cwnd_gain;
	u16 port;
	u8 mode;
	u8 phase;
	u8 full_pipe;
	u8 passed;
	u8 unused[6];
};

struct {
	int (*type)[27 /* BPF_MAP_TYPE_RINGBUF */];
	int (*max_entries)[1 << 20];
} reports SECTION(".maps");

INLINE u32 smaller(u32 a, u32 b)
{
	return a < b ? a : b;
}

INLINE u32 larger(u32 a, u32 b)
{
	return a > b ? a : b;
}

INLINE u32 in_flight(struct tcp_sock *tcp)
{
	return tcp->packets_out + tcp->retrans_out - tcp->sacked_out - tcp->lost_out;
}

/* Whether the window, and nothing else, holds the sender back (tcp_is_cwnd_limited). */
INLINE bool is_cwnd_limited(struct tcp_sock *tcp)
{
	if (tcp->snd_cwnd < tcp->snd_ssthresh)
		return tcp->snd_cwnd < 2 * tcp->max_packets_out;
	return BITS(tcp, is_cwnd_limited);
}

/* Grows the window by what was acknowledged, up to the threshold; returns what is left (tcp_slow_start). */
INLINE u32 slow_start(struct tcp_sock *tcp, u32 acked)
{
	u32 cwnd = tcp->snd_cwnd;
	u32 grown = smaller(cwnd + acked, tcp->snd_ssthresh);

	tcp->snd_cwnd = smaller(grown, tcp->snd_cwnd_clamp);
	return acked - (grown - cwnd);
}

/* Grows the window by a packet for every `per_packet` acknowledged (tcp_cong_avoid_ai). */
INLINE void additive_increase(struct tcp_sock *tcp, u32 per_packet, u32 acked)
{
	u32 cwnd = tcp->snd_cwnd;
	u32 counted = tcp->snd_cwnd_cnt;

	if (counted >= per_packet) {
		counted = 0;
		cwnd++;
	}
	counted += acked;
	cwnd += counted / per_packet;
	tcp->snd_cwnd_cnt = counted % per_packet;
	tcp->snd_cwnd = smaller(cwnd, tcp->snd_cwnd_clamp);
}
