/* A congestion-control algorithm of your own for Dumbbell: include this file, define `dumbbell_cc`, and compile a
 * shared library. It needs nothing else. An experiment names it as `cc = { library = "./libmine.so" }`.
 *
 * The order of the calls is that of Linux's `struct tcp_congestion_ops`; counts are packets unless a name says otherwise.
 * Calls for one flow come one after the other, from any thread; flows have states of their own, and know of each other only
 * what the network tells. An algorithm must decide from what it is given alone: no clock, no file, no global variable that
 * changes, no random numbers but those that follow from the seed.
 */
#ifndef DUMBBELL_CC_H
#define DUMBBELL_CC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this contract. A library of another version is refused. */
#define DUMBBELL_CC_VERSION 1u

/* What `ssthresh` is before the first reduction. */
#define DUMBBELL_INFINITE_SSTHRESH 0x7fffffffu
/* What `min_rtt_us` is before the first sample. */
#define DUMBBELL_UNKNOWN_RTT UINT32_MAX

/* States of the sender. */
enum { DUMBBELL_OPEN = 0, DUMBBELL_DISORDER = 1, DUMBBELL_CWR = 2, DUMBBELL_RECOVERY = 3, DUMBBELL_LOSS = 4 };

/* Events: the first packet after everything was acknowledged, a restart after idle time, the end of a reduction, a
 * retransmission timeout. */
enum { DUMBBELL_TX_START = 0, DUMBBELL_CWND_RESTART = 1, DUMBBELL_COMPLETE_CWR = 2, DUMBBELL_TIMEOUT = 3 };

/* Bits of `dumbbell_algorithm.flags`: it owns the window in every state, and `cong_control` is called with every ACK in place
 * of `cong_avoid`; it asks the sender to pace; it wants packets to be marked rather than dropped (RFC 3168). */
enum { DUMBBELL_FULL_CONTROL = 1, DUMBBELL_WANTS_PACING = 2, DUMBBELL_WANTS_ECN = 4 };

/* The connection, which an algorithm reads. */
typedef struct dumbbell_view {
    uint32_t size;              /* bytes of this struct */
    uint32_t mss;               /* payload bytes of a full segment */
    uint64_t now_ns;            /* the present instant */
    uint64_t now_us;            /* the present instant in whole microseconds */
    uint64_t delivered;         /* packets delivered so far */
    uint64_t delivered_ce;      /* of those, with a congestion mark */
    uint64_t lost;              /* packets ever marked lost */
    uint64_t delivered_us;      /* when `delivered` last grew */
    uint64_t last_sent_ns;      /* when the last burst left */
    uint64_t next_departure_ns; /* when pacing lets the next packet leave */
    uint64_t snd_una;           /* first position that is not acknowledged */
    uint64_t snd_nxt;           /* next position to be sent */
    uint64_t max_pacing_rate;   /* upper bound of `pacing_rate` */
    uint32_t jiffies;           /* ticks of the coarse clock */
    uint32_t hz;                /* ticks a second */
    uint32_t prior_cwnd;        /* window before the present reduction */
    uint32_t cwnd_clamp;        /* upper bound of `cwnd` */
    uint32_t packets_out;       /* sent and not cumulatively acknowledged */
    uint32_t sacked_out;        /* selectively acknowledged */
    uint32_t lost_out;          /* marked lost and not repaired */
    uint32_t retrans_out;       /* retransmissions in flight */
    uint32_t in_flight;         /* packets_out + retrans_out - sacked_out - lost_out */
    uint32_t max_packets_out;   /* most packets out in the last window */
    uint32_t cwnd_limited;      /* 1: nothing but the window held the sender back in the last window */
    uint32_t ca_state;          /* DUMBBELL_OPEN ... */
    uint32_t srtt_us;           /* smoothed round-trip time; 0 before the first sample */
    uint32_t min_rtt_us;        /* smallest recent round-trip time, or DUMBBELL_UNKNOWN_RTT */
    uint32_t paced;             /* 1: `pacing_rate` shapes what is sent */
    uint32_t no_unsent_data;    /* 1: the application has nothing more to send at present */
} dumbbell_view;

/* What an algorithm may change. */
typedef struct dumbbell_control {
    uint32_t size;        /* bytes of this struct */
    uint32_t cwnd;        /* congestion window, at least 1 */
    uint32_t cwnd_cnt;    /* credit towards the next increment of `cwnd` */
    uint32_t ssthresh;    /* slow-start threshold */
    uint64_t pacing_rate; /* payload bytes a second, at least 1; the sender's own without DUMBBELL_FULL_CONTROL */
    uint64_t app_limited; /* samples up to this value of `delivered` count as limited by the application; 0: none */
    const char *fault;    /* set it to say why the algorithm cannot go on: the run ends with this sentence */
} dumbbell_control;

/* What an ACK taught the sender (`struct rate_sample`); -1 stands for what it did not. */
typedef struct dumbbell_sample {
    uint32_t size;            /* bytes of this struct */
    int32_t delivered;        /* packets delivered over the interval */
    int64_t interval_us;      /* length of the interval */
    int64_t rtt_us;           /* round-trip time of this ACK */
    uint64_t prior_delivered; /* `delivered` when the sampled packet was sent */
    uint64_t prior_us;        /* `delivered_us` when it was sent */
    uint32_t losses;          /* packets newly marked lost */
    uint32_t acked;           /* packets newly acknowledged */
    uint32_t prior_in_flight; /* packets in flight before this ACK */
    uint32_t tx_in_flight;    /* packets in flight when the sampled packet was sent */
    int32_t lost_since_sent;  /* packets lost since then */
    int32_t delivered_ce;     /* packets delivered with a mark since then */
    uint32_t is_app_limited;  /* 1: the application was the limit then */
    uint32_t is_retrans;      /* 1: the sampled packet was a retransmission */
    uint32_t is_ack_delayed;  /* 1: the round-trip time probably has a receiver's wait in it */
    uint32_t is_ece;          /* 1: the ACK echoes congestion */
} dumbbell_sample;

/* A constant that an experiment may set: `cc = { library = "./libmine.so", beta = 0.8 }`. */
typedef struct dumbbell_parameter {
    const char *name;
    const char *meaning; /* a sentence */
    double normal;       /* its value where the experiment says nothing */
    double least;
    double most;
} dumbbell_parameter;

/* The algorithm. Functions that it does not need are NULL; `ssthresh` and one of `cong_avoid` and `cong_control` are needed. */
typedef struct dumbbell_algorithm {
    uint32_t version; /* DUMBBELL_CC_VERSION */
    uint32_t size;    /* sizeof(struct dumbbell_algorithm) */
    uint32_t flags;   /* DUMBBELL_FULL_CONTROL | ... */
    uint32_t parameter_count;
    const dumbbell_parameter *parameters;
    const char *name;    /* one word */
    const char *summary; /* a sentence */
    /* The state of a flow, which is handed to every other function; NULL where there is no room. `parameters` are their values
     * in the order above, which are gone afterwards. Without this function the state is NULL. */
    void *(*create)(const double *parameters, uint64_t seed);
    void (*destroy)(void *state);
    /* The connection is there. */
    void (*init)(void *state, const dumbbell_view *view, dumbbell_control *control);
    /* The threshold for the reduction that is about to begin. */
    uint32_t (*ssthresh)(void *state, const dumbbell_view *view, const dumbbell_control *control);
    /* `acked` packets were delivered outside of a reduction. */
    void (*cong_avoid)(void *state, const dumbbell_view *view, dumbbell_control *control, uint32_t acked);
    /* Every ACK, with DUMBBELL_FULL_CONTROL. */
    void (*cong_control)(void *state, const dumbbell_view *view, dumbbell_control *control, const dumbbell_sample *sample);
    /* An ACK took `acked` packets out of the queue; `rtt_us` is -1 without a round-trip time; so many were in flight when the
     * newest of them was sent. */
    void (*pkts_acked)(void *state, const dumbbell_view *view, dumbbell_control *control, uint32_t acked, int64_t rtt_us,
                       uint32_t in_flight);
    /* A packet that was sent with `tx_in_flight` in flight has just been counted in `lost`. */
    void (*packet_lost)(void *state, const dumbbell_view *view, dumbbell_control *control, uint32_t tx_in_flight);
    /* The state becomes `next`; `view->ca_state` is still the old one. */
    void (*set_state)(void *state, const dumbbell_view *view, dumbbell_control *control, uint32_t next);
    /* DUMBBELL_TX_START ... */
    void (*event)(void *state, const dumbbell_view *view, dumbbell_control *control, uint32_t event);
    /* The window to return to after a reduction that proved spurious; without it the larger of the present one and the one
     * before. */
    uint32_t (*undo_cwnd)(void *state, const dumbbell_view *view, const dumbbell_control *control);
} dumbbell_algorithm;

/* The only function that a library has to define. What it returns stays as it is. */
#if defined(_WIN32)
__declspec(dllexport)
#elif defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const dumbbell_algorithm *dumbbell_cc(void);

#ifdef __cplusplus
}
#endif

#endif
