#![doc = include_str!("../README.md")]
//!
//! | file | component | kernel, RFC |
//! |---|---|---|
//! | [`rtt`] | smoothed RTT and retransmission timeout | `tcp_rtt_estimator`, RFC 6298 |
//! | [`min_rtt`] | smallest RTT of 300 s | `tcp_update_rtt_min`, `win_minmax.c` |
//! | [`ack_rtt`] | which RTTs an ACK gives | `tcp_ack_update_rtt` |
//! | [`round_trip`] | the three together | `tcp_ack_update_rtt` |
//! | [`rate`] | delivery-rate samples: Linux's, older Linux's, ns-3's, Chromium's | `tcp_rate.c` |
//! | [`scoreboard`] | what is known of every segment outstanding | `tcp_rtx_queue`, `TCPCB_*` |
//! | [`rack`] | loss detection by time | `tcp_recovery.c`, RFC 8985 |
//! | [`dupthresh`] | loss detection by count | RFC 6675 |
//! | [`newreno`] | duplicate ACKs in place of SACK | `tcp_add_reno_sack`, RFC 6582 |
//! | [`reordering`] | degree of reordering | `tcp_check_sack_reordering` |
//! | [`tlp`] | tail loss probes | `tcp_send_loss_probe`, RFC 8985 |
//! | [`prr`] | proportional rate reduction | `tcp_cwnd_reduction`, RFC 9937 |
//! | [`undo`] | reductions taken back | `tcp_may_undo`, RFC 3522, RFC 3708 |
//! | [`frto`] | spurious timeouts | `tcp_process_loss`, RFC 5682 |
//! | [`timer`] | the one timer of a sender | `icsk_pending`, `tcp_rearm_rto` |
//! | [`jiffies`] | the coarse clock of timers | `CONFIG_HZ` |
//! | [`pacer`] | when a burst may leave | `tcp_update_skb_after_send` |
//! | [`send_stamp`] | when a segment left, and in which order | `skb_mstamp_ns`, `tcp_skb_sent_after` |
//! | [`send_buffer`] | how much may be written and not acknowledged | `tcp_sndbuf_expand`, `sk_stream_write_space` |
//! | [`host_queue`] | TCP small queues | `tcp_small_queue_check` |
//! | [`cwnd_validation`] | windows that are not filled, idle time | `tcp_cwnd_validate`, RFC 2861 |
//! | [`rfc9002`] | QUIC's RTT, losses, timeout and pacing | RFC 9002 |
//! | [`accurate_ecn`] | marks counted by ACKs | RFC 9768 |
//! | [`careful_resume`] | remembered paths | RFC 9959 |

pub mod accurate_ecn;
pub mod ack_rtt;
pub mod careful_resume;
pub mod cwnd_validation;
pub mod dupthresh;
pub mod frto;
pub mod host_queue;
pub mod jiffies;
pub mod min_rtt;
pub mod newreno;
pub mod pacer;
pub mod prr;
pub mod rack;
pub mod rate;
pub mod reordering;
pub mod rfc9002;
pub mod round_trip;
pub mod rtt;
pub mod scoreboard;
pub mod send_buffer;
pub mod send_stamp;
pub mod timer;
pub mod timestamp;
pub mod tlp;
pub mod undo;
