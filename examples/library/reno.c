/* Reno as a library: decides as the built-in `reno` does, to the bit. */
#include "dumbbell_cc.h"

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint32_t ssthresh(void *state, const dumbbell_view *view, const dumbbell_control *control) {
    (void)state, (void)view;
    return control->cwnd / 2 > 2 ? control->cwnd / 2 : 2;
}

static void cong_avoid(void *state, const dumbbell_view *view, dumbbell_control *control, uint32_t acked) {
    (void)state;
    int in_slow_start = control->cwnd < control->ssthresh;
    if (!view->cwnd_limited && !(in_slow_start && control->cwnd < 2 * view->max_packets_out))
        return;
    if (in_slow_start) {
        uint32_t cwnd = smaller(control->cwnd + acked, control->ssthresh);
        acked -= cwnd - control->cwnd;
        control->cwnd = smaller(cwnd, view->cwnd_clamp);
        if (acked == 0)
            return;
    }
    /* One packet more for every window of packets acknowledged. */
    uint32_t window = control->cwnd;
    if (control->cwnd_cnt >= window) {
        control->cwnd_cnt = 0;
        control->cwnd += 1;
    }
    control->cwnd_cnt += acked;
    if (control->cwnd_cnt >= window) {
        control->cwnd += control->cwnd_cnt / window;
        control->cwnd_cnt %= window;
    }
    control->cwnd = smaller(control->cwnd, view->cwnd_clamp);
}

static const dumbbell_algorithm reno = {
    .version = DUMBBELL_CC_VERSION,
    .size = sizeof(dumbbell_algorithm),
    .name = "reno",
    .summary = "one packet more per round trip, half the window less per loss",
    .ssthresh = ssthresh,
    .cong_avoid = cong_avoid,
};

const dumbbell_algorithm *dumbbell_cc(void) { return &reno; }
