/* SPDX-License-Identifier: MIT OR GPL-2.0-only */

/*
 * Scalable TCP (Kelly, CCR 2003): a hundredth of the window more per round trip, an eighth less per loss. It shows how
 * little a program needs.
 */

#include "tcp.h"

void cong_avoid(u64 *arguments)
{
	struct tcp_sock *tcp = CONNECTION(arguments);
	u32 acked = arguments[2];

	if (!is_cwnd_limited(tcp))
		return;
	if (tcp->snd_cwnd < tcp->snd_ssthresh)
		acked = slow_start(tcp, acked);
	if (acked > 0)
		additive_increase(tcp, smaller(tcp->snd_cwnd, 100), acked);
}

u32 ssthresh(u64 *arguments)
{
	u32 cwnd = CONNECTION(arguments)->snd_cwnd;

	return larger(cwnd - (cwnd >> 3), 2);
}

u32 undo_cwnd(u64 *arguments)
{
	struct tcp_sock *tcp = CONNECTION(arguments);

	return larger(tcp->snd_cwnd, tcp->prior_cwnd);
}
