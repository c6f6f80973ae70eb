//! What a class in Python sees of its connection and may change: one object for as long as the flow lives, filled again
//! before each call.

use dumbbell_cc::{Control, View};
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

/// The largest window that can be written.
pub const MAX_CWND: f64 = Control::INFINITE_SSTHRESH as f64;
/// The most packets that helpers take for those of one ACK.
pub const MAX_ACKED: u32 = 1 << 24;
/// The largest rate that can be written, in bytes per second: beyond all links.
pub const MAX_RATE: f64 = 1e15;

/// What may be written during a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Everything.
    All,
    /// Everything but the pacing rate, which the transport sets; the text says why.
    NotPacing(&'static str),
    /// Nothing: the call answers by what it returns.
    Nothing(&'static str),
}

/// A connection, as the algorithm that governs it sees it.
#[pyclass(module = "dumbbell")]
pub struct Conn {
    pub view: View,
    pub control: Control,
    /// What was written of `cwnd` beyond whole packets.
    fraction: f64,
    /// The threshold was written in this call.
    pub wrote_ssthresh: bool,
    pub writes: Writes,
    random: Py<PyAny>,
}

impl Conn {
    pub fn new(random: Py<PyAny>) -> Conn {
        let (view, control) = (View::new(0), Control::default());
        Conn { view, control, fraction: 0.0, wrote_ssthresh: false, writes: Writes::All, random }
    }

    /// Takes over the state of the connection for a call.
    #[inline]
    pub fn fill(&mut self, view: &View, control: &Control, writes: Writes) {
        if self.control.cwnd != control.cwnd {
            self.fraction = 0.0;
        }
        self.view.clone_from(view);
        self.control.clone_from(control);
        self.writes = writes;
        self.wrote_ssthresh = false;
    }

    /// Gives back what was written.
    #[inline]
    pub fn store(&mut self, control: &mut Control) {
        self.control.cwnd = self.control.cwnd.min(self.view.cwnd_clamp);
        control.clone_from(&self.control);
    }

    fn may_write(&self, name: &str) -> PyResult<()> {
        match self.writes {
            Writes::Nothing(hook) => Err(PyAttributeError::new_err(format!(
                "`conn.{name}` cannot be written in `{hook}`, which answers by what it returns"
            ))),
            Writes::NotPacing(why) if name == "pacing_rate" => Err(PyAttributeError::new_err(why)),
            Writes::All | Writes::NotPacing(_) => Ok(()),
        }
    }
}

/// A number that somebody wrote, whole or not.
fn number(value: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    if value.is_instance_of::<PyBool>() || !(value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>()) {
        // Numbers of NumPy are numbers, too.
        let is_number = !value.is_instance_of::<PyBool>() && value.hasattr("__float__")?;
        if !is_number {
            let kind = value.get_type().name()?;
            return Err(PyTypeError::new_err(format!("`{name}` must be a number, not {kind} ({})", value.repr()?)));
        }
    }
    value.extract()
}

/// A number within bounds.
fn bounded(value: &Bound<'_, PyAny>, name: &str, unit: &str, least: f64, most: f64) -> PyResult<f64> {
    let read = number(value, name)?;
    if (least..=most).contains(&read) {
        return Ok(read);
    }
    Err(PyValueError::new_err(format!("`{name} = {read}`: it must lie between {least:.0} and {most:.0} {unit}")))
}

/// A window or threshold in whole packets.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
pub fn packets(value: &Bound<'_, PyAny>, name: &str, least: f64) -> PyResult<u32> {
    if let Ok(exact) = value.cast_exact::<PyInt>().map_err(PyErr::from).and_then(|whole| whole.extract::<u32>())
        && (least..=MAX_CWND).contains(&f64::from(exact))
    {
        return Ok(exact);
    }
    bounded(value, name, "packets", least, MAX_CWND).map(|read| read as u32)
}

/// More packets than an ACK can be of would not fit the window's 32 bits.
fn check_acked(acked: u32) -> PyResult<()> {
    if acked <= MAX_ACKED {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("`acked = {acked}`: one ACK is of at most {MAX_ACKED} packets")))
}

fn seconds_of(micros: u32) -> f64 {
    f64::from(micros) / 1e6
}

#[pymethods]
impl Conn {
    /// Time of the run in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.view.now.as_secs_f64()
    }

    /// Payload bytes of a full packet.
    #[getter]
    fn mss(&self) -> u32 {
        self.view.mss
    }

    /// Congestion window in packets.
    #[getter]
    fn cwnd<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.fraction == 0.0 {
            Ok(self.control.cwnd.into_pyobject(py)?.into_any())
        } else {
            Ok(PyFloat::new(py, f64::from(self.control.cwnd) + self.fraction).into_any())
        }
    }

    #[setter]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    fn set_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.may_write("cwnd")?;
        if let Ok(whole) = value.cast_exact::<PyInt>() {
            self.control.cwnd = packets(whole, "conn.cwnd", 1.0)?;
            self.fraction = 0.0;
        } else {
            let window = bounded(value, "conn.cwnd", "packets", 1.0, MAX_CWND)?;
            self.control.cwnd = window as u32;
            self.fraction = window.fract();
        }
        self.control.cwnd_bytes = 0;
        Ok(())
    }

    /// Slow-start threshold in packets; 0x7fffffff before the first reduction.
    #[getter]
    fn ssthresh(&self) -> u32 {
        self.control.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.may_write("ssthresh")?;
        self.control.ssthresh = packets(value, "conn.ssthresh", 0.0)?;
        self.wrote_ssthresh = true;
        Ok(())
    }

    /// Payload bytes per second at which the sender may transmit.
    #[getter]
    fn pacing_rate(&self) -> u64 {
        self.control.pacing_rate.min(i64::MAX as u64)
    }

    #[setter]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    fn set_pacing_rate(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.may_write("pacing_rate")?;
        self.control.pacing_rate = match value.cast_exact::<PyInt>().map(|whole| whole.extract::<u64>()) {
            Ok(Ok(whole)) if whole > 0 && whole <= self.view.max_pacing_rate => whole,
            _ => bounded(value, "conn.pacing_rate", "bytes per second", 1.0, MAX_RATE)? as u64,
        };
        Ok(())
    }

    /// Packets in flight.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.view.in_flight()
    }

    /// Smoothed round-trip time in seconds; None before the first sample.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        (self.view.srtt_us_x8 > 0).then(|| f64::from(self.view.srtt_us_x8) / 8e6)
    }

    /// The kernel's windowed minimum of the round-trip time in seconds; None before the first sample.
    #[getter]
    fn min_rtt(&self) -> Option<f64> {
        (self.view.min_rtt_us != View::UNKNOWN_RTT).then(|| seconds_of(self.view.min_rtt_us))
    }

    /// Packets delivered so far.
    #[getter]
    fn delivered(&self) -> u64 {
        self.view.delivered
    }

    /// Packets ever marked lost.
    #[getter]
    fn lost(&self) -> u64 {
        self.view.lost
    }

    /// Whether the window is below the slow-start threshold.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.control.in_slow_start()
    }

    /// Whether the window held the sender back; in slow start a window used by half counts.
    #[getter]
    fn is_cwnd_limited(&self) -> bool {
        self.view.is_cwnd_limited(&self.control)
    }

    /// Random numbers of this flow's own stream.
    #[getter]
    fn random(&self, py: Python<'_>) -> Py<PyAny> {
        self.random.clone_ref(py)
    }

    /// The instant in whole microseconds (`tcp_mstamp`).
    #[getter]
    fn mstamp_us(&self) -> u64 {
        self.view.mstamp_us
    }

    /// The instant in nanoseconds (`tcp_clock_cache`).
    #[getter]
    fn now_ns(&self) -> u64 {
        self.view.now.as_nanos()
    }

    /// The instant in ticks of the coarse clock (`tcp_jiffies32`).
    #[getter]
    fn jiffies(&self) -> u32 {
        self.view.jiffies
    }

    /// Ticks of the coarse clock per second (`HZ`).
    #[getter]
    fn hz(&self) -> u32 {
        self.view.hz
    }

    /// Window before the current reduction in packets (`prior_cwnd`).
    #[getter]
    fn prior_cwnd(&self) -> u32 {
        self.view.prior_cwnd
    }

    /// Upper bound of the window in packets (`snd_cwnd_clamp`).
    #[getter]
    fn cwnd_clamp(&self) -> u32 {
        self.view.cwnd_clamp
    }

    /// Upper bound of the pacing rate (`sk_max_pacing_rate`); 2^63 - 1 where there is none.
    #[getter]
    fn max_pacing_rate(&self) -> u64 {
        // Compiled classes have whole numbers of 64 bits with a sign, and decide as others do.
        self.view.max_pacing_rate.min(i64::MAX as u64)
    }

    /// Largest payload of one burst in bytes.
    #[getter]
    fn gso_max_bytes(&self) -> u32 {
        self.view.gso_max_bytes
    }

    /// Whether transmissions are shaped by the pacing rate.
    #[getter]
    fn paced(&self) -> bool {
        self.view.paced
    }

    /// When the next packet may leave under pacing, in nanoseconds (`tcp_wstamp_ns`).
    #[getter]
    fn next_departure_ns(&self) -> u64 {
        self.view.next_departure.as_nanos()
    }

    /// Packets sent and not cumulatively acknowledged.
    #[getter]
    fn packets_out(&self) -> u32 {
        self.view.packets_out
    }

    /// Packets selectively acknowledged.
    #[getter]
    fn sacked_out(&self) -> u32 {
        self.view.sacked_out
    }

    /// Packets marked lost and not repaired.
    #[getter]
    fn lost_out(&self) -> u32 {
        self.view.lost_out
    }

    /// Retransmissions in flight.
    #[getter]
    fn retrans_out(&self) -> u32 {
        self.view.retrans_out
    }

    /// Most packets out in the last window.
    #[getter]
    fn max_packets_out(&self) -> u32 {
        self.view.max_packets_out
    }

    /// Whether the window, and nothing else, held the sender back in the last window (`is_cwnd_limited` of `tcp_sock`).
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.view.cwnd_limited
    }

    /// Whether the application has handed over no data that is not sent.
    #[getter]
    fn no_unsent_data(&self) -> bool {
        self.view.no_unsent_data
    }

    /// Whether the receive window, and nothing else, keeps the next packet back.
    #[getter]
    fn receive_window_full(&self) -> bool {
        self.view.receive_window_full
    }

    /// First unacknowledged position.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.view.snd_una
    }

    /// Next position to be sent.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.view.snd_nxt
    }

    /// Congestion-avoidance state, a number of `CaState`.
    #[getter]
    fn ca_state(&self) -> u32 {
        self.view.ca_state as u32
    }

    /// Packets whose delivery was reported with a congestion mark.
    #[getter]
    fn delivered_ce(&self) -> u64 {
        self.view.delivered_ce
    }

    /// When `delivered` last grew, in microseconds (`delivered_mstamp`).
    #[getter]
    fn delivered_mstamp_us(&self) -> u64 {
        self.view.delivered_mstamp_us
    }

    /// When the last burst left, in nanoseconds.
    #[getter]
    fn last_sent_ns(&self) -> u64 {
        self.view.last_sent.as_nanos()
    }

    /// Eight times the smoothed round-trip time in microseconds (`srtt_us`); 0 before the first sample.
    #[getter]
    fn srtt_us_x8(&self) -> u32 {
        self.view.srtt_us_x8
    }

    /// Windowed minimum of the round-trip time in microseconds; 0xffffffff before the first sample.
    #[getter]
    fn min_rtt_us(&self) -> u32 {
        self.view.min_rtt_us
    }

    /// Credit towards the next increment of the window in packets (`snd_cwnd_cnt`).
    #[getter]
    fn cwnd_cnt(&self) -> u32 {
        self.control.cwnd_cnt
    }

    #[setter]
    fn set_cwnd_cnt(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.may_write("cwnd_cnt")?;
        self.control.cwnd_cnt = packets(value, "conn.cwnd_cnt", 0.0)?;
        Ok(())
    }

    /// `2^-pacing_shift` seconds of the pacing rate leave as one burst (`sk_pacing_shift`).
    #[getter]
    fn pacing_shift(&self) -> u32 {
        self.control.pacing_shift
    }

    #[setter]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    fn set_pacing_shift(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.may_write("pacing_shift")?;
        self.control.pacing_shift = bounded(value, "conn.pacing_shift", "", 0.0, 31.0)? as u32;
        Ok(())
    }

    /// 0, or what `delivered` must exceed before samples are not limited by the application any more.
    #[getter]
    fn app_limited(&self) -> u64 {
        self.control.app_limited
    }

    #[setter]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    fn set_app_limited(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.may_write("app_limited")?;
        self.control.app_limited = bounded(value, "conn.app_limited", "packets", 0.0, MAX_RATE)? as u64;
        Ok(())
    }

    /// Slow start for `acked` packets; returns those left over at the threshold (`tcp_slow_start`).
    fn slow_start(&mut self, acked: u32) -> PyResult<u32> {
        self.may_write("cwnd")?;
        check_acked(acked)?;
        Ok(self.control.slow_start(&self.view, acked))
    }

    /// One packet more for every `per_increment` packets acknowledged (`tcp_cong_avoid_ai`).
    fn cong_avoid_ai(&mut self, per_increment: u32, acked: u32) -> PyResult<()> {
        self.may_write("cwnd")?;
        check_acked(acked)?;
        self.control.additive_increase(&self.view, per_increment.max(1), acked);
        Ok(())
    }

    fn __repr__(&self) -> String {
        let View { now, .. } = &self.view;
        format!("<Conn at {} s: cwnd {}, in flight {}>", now.as_secs_f64(), self.control.cwnd, self.view.in_flight())
    }
}
