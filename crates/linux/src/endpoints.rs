//! Flows whose ends are those of a library, in this process: real datagrams over sockets of UDP, timers by the wall clock.
//!
//! The ends are those that the simulator drives in virtual time. Each has a host and a thread to itself.

use crate::clock::{Clock, timespec};
use crate::emulator::{Ends, Traffic};
use crate::host::{Host, Side, place};
use crate::settings::Settings;
use crate::traffic::{Application, be_prompt};
use crate::{NOTHING, PATIENCE, RunError, Shared, locked};
use dumbbell_cc_contract::Fault;
use dumbbell_network::{FailedConnection, controller_stream, sender_counts};
use dumbbell_results::{FlowCounts, Histogram, UNKNOWN};
use dumbbell_scenario::{Flow, Scenario};
use dumbbell_transport::{Act, Arrival, Endpoint, Handshake, Protocol};
use dumbbell_units::{Duration, Ecn, Time};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

/// What a socket holds for an end that is late: more than a window of the largest path here.
const SOCKET_BYTES: usize = 16 << 20;
/// Datagrams that an end reads before it looks whether it may send.
const READ_AT_ONCE: usize = 64;
/// The longest datagram.
const LONGEST: usize = 65_536;
/// Bytes of the headers of IP and UDP.
const HEADER: usize = 28;

/// A flow of two such ends.
pub struct EndpointFlow<'a> {
    number: usize,
    spec: &'a Flow,
    hosts: [Host; 2],
    sockets: [UdpSocket; 2],
    near: Mutex<Box<dyn Endpoint>>,
    far: Mutex<Box<dyn Endpoint>>,
    /// Round-trip times of the measured interval, microseconds.
    rtt: Mutex<Histogram>,
    measured: (Time, Time),
}

/// All such flows of a run.
pub struct EndpointFlows<'a> {
    flows: Vec<EndpointFlow<'a>>,
    failure: Mutex<Option<(usize, Fault)>>,
}

impl<'a> EndpointFlows<'a> {
    /// Makes hosts, sockets and ends.
    pub fn new(scenario: &'a Scenario, settings: &Settings) -> Result<EndpointFlows<'a>, RunError> {
        let mut flows = Vec::new();
        for (number, spec) in scenario.flows.iter().enumerate() {
            let Protocol::Library(library) = spec.transport.protocol else { continue };
            let hosts = Host::pair(settings, |_| Vec::new())?;
            let machine = |error| RunError::Machine(format!("cannot make the socket of flow {number}: {error}"));
            let [near, far] = Side::BOTH.map(|side| open_socket(&hosts[side as usize], side, number).map_err(machine));
            let stream = || controller_stream(scenario.seed, number);
            let controller = spec.cc.controller(stream());
            let ends = library.endpoints(&spec.transport, controller, stream().next_u64());
            flows.push(EndpointFlow {
                number,
                spec,
                hosts,
                sockets: [near?, far?],
                near: Mutex::new(ends.0),
                far: Mutex::new(ends.1),
                rtt: Mutex::default(),
                measured: (
                    Time::ZERO + scenario.warmup,
                    Time::ZERO + scenario.duration.saturating_sub(scenario.cooldown),
                ),
            });
        }
        Ok(EndpointFlows { flows, failure: Mutex::new(None) })
    }

    /// Their hosts, for the emulator.
    pub fn ends(&self) -> impl Iterator<Item = Ends<'_>> {
        let number = |flow: &EndpointFlow<'_>| u32::try_from(flow.number).unwrap_or(u32::MAX);
        self.flows.iter().map(move |flow| Ends::new(&flow.hosts, Traffic::Endpoints(number(flow))))
    }

    /// Their hosts, in pairs.
    pub fn hosts(&self) -> impl Iterator<Item = &[Host; 2]> {
        self.flows.iter().map(|flow| &flow.hosts)
    }

    /// The flow with this number, if it is one of them.
    pub fn get(&self, number: usize) -> Option<&EndpointFlow<'a>> {
        self.flows.iter().find(|flow| flow.number == number)
    }

    /// Whether a connection could not go on.
    pub fn has_failed(&self) -> bool {
        locked(&self.failure).is_some()
    }

    /// Which connection that was, and why.
    pub fn failure(&self) -> Option<RunError> {
        let (number, fault) = locked(&self.failure).take()?;
        Some(FailedConnection::new(number, self.get(number)?.spec, &fault).into())
    }

    /// Drives the end that sends, and its application.
    pub fn send(
        &self,
        flow: &EndpointFlow<'_>,
        application: Application,
        clock: Clock,
        is_light: bool,
        shared: &Shared,
    ) {
        let state = &shared.flows[flow.number];
        be_prompt(is_light);
        if !clock.sleep_until(application.start, &shared.is_over) {
            return;
        }
        let now = clock.now();
        state.started_at.store(now.as_nanos(), Ordering::Relaxed);
        state.is_established.store(true, Ordering::Release);
        locked(&flow.near).on_application(now, Act::Establish(Handshake::NONE));
        let mut writer = Writer::new(application, now);
        let mut driver = Driver::new(&flow.sockets[Side::Sender as usize], clock, shared);
        let mut stops = flow.spec.stop.unwrap_or(Time::NEVER);
        while !shared.is_over.load(Ordering::Relaxed) {
            let due = {
                let mut end = locked(&flow.near);
                writer.write_due(clock.now(), &mut **end);
                if stops <= clock.now() {
                    stops = Time::NEVER;
                    end.on_application(clock.now(), Act::Close);
                    writer.stop();
                }
                driver.transmit(&mut **end);
                if let Some(fault) = end.report().fault {
                    locked(&self.failure).get_or_insert((flow.number, fault.clone()));
                    return;
                }
                end.next_timer().min(writer.next()).min(stops)
            };
            driver.wait(due);
            let mut end = locked(&flow.near);
            driver.receive(&mut **end, |now, news| {
                if let Some(rtt) = news.rtt()
                    && (flow.measured.0..flow.measured.1).contains(&now)
                {
                    locked(&flow.rtt).add(rtt.as_micros());
                }
                if news.is_idle() && writer.is_done() && state.completed_at.load(Ordering::Relaxed) == NOTHING {
                    state.completed_at.store(now.as_nanos(), Ordering::Relaxed);
                }
            });
        }
    }

    /// Drives the end that receives.
    pub fn receive(&self, flow: &EndpointFlow<'_>, clock: Clock, is_light: bool, shared: &Shared) {
        let state = &shared.flows[flow.number];
        be_prompt(is_light);
        let mut driver = Driver::new(&flow.sockets[Side::Receiver as usize], clock, shared);
        while !shared.is_over.load(Ordering::Relaxed) {
            let due = {
                let mut end = locked(&flow.far);
                driver.transmit(&mut **end);
                let report = end.report();
                if let Some(fault) = report.fault {
                    locked(&self.failure).get_or_insert((flow.number, fault.clone()));
                    return;
                }
                let delivered = report.received.map_or(0, |received| received.delivered_bytes);
                state.delivered_bytes.store(delivered, Ordering::Relaxed);
                end.next_timer()
            };
            driver.wait(due);
            driver.receive(&mut **locked(&flow.far), |_, _| {});
        }
    }
}

impl EndpointFlow<'_> {
    /// The end that sends, to be looked at.
    pub fn near(&self) -> MutexGuard<'_, Box<dyn Endpoint>> {
        locked(&self.near)
    }

    /// Round-trip times of the measured interval.
    pub fn rtt(&self) -> Histogram {
        locked(&self.rtt).clone()
    }

    /// What the end that sends has counted.
    pub fn counts(&self) -> FlowCounts {
        let end = self.near();
        let report = end.report();
        let sent = report.sent.copied().unwrap_or_default();
        FlowCounts {
            lost: report.sending.map_or(UNKNOWN, |sending| sending.view.lost),
            duplicates: UNKNOWN,
            ..sender_counts(&sent, report.hides_timers)
        }
    }
}

/// A socket of UDP in a host, connected to that of the other one.
fn open_socket(host: &Host, side: Side, flow: usize) -> io::Result<UdpSocket> {
    let open = || {
        host.enter()?;
        let socket = UdpSocket::bind(place(side, flow))?;
        socket.connect(place(side.other(), flow))?;
        sockopt::set_socket_recv_buffer_size_force(&socket, SOCKET_BYTES)?;
        sockopt::set_socket_send_buffer_size_force(&socket, SOCKET_BYTES)?;
        Ok(socket)
    };
    std::thread::scope(|scope| {
        scope.spawn(open).join().unwrap_or_else(|_| Err(io::Error::other("its thread has failed")))
    })
}

/// What moves datagrams between an end and its socket.
struct Driver<'s> {
    socket: &'s UdpSocket,
    clock: Clock,
    shared: &'s Shared,
    payload: Vec<u8>,
    arrived: Vec<u8>,
}

impl<'s> Driver<'s> {
    fn new(socket: &'s UdpSocket, clock: Clock, shared: &'s Shared) -> Driver<'s> {
        Driver { socket, clock, shared, payload: Vec::new(), arrived: vec![0; LONGEST] }
    }

    /// Puts on the wire what may leave.
    fn transmit(&mut self, end: &mut dyn Endpoint) {
        loop {
            self.payload.clear();
            if end.poll_transmit(self.clock.now(), &mut self.payload).is_none() {
                return;
            }
            // A datagram that cannot leave is one that is lost: the host counts it.
            let _ = send(self.socket, &self.payload, SendFlags::NOSIGNAL);
        }
    }

    /// Waits until something arrives, or `due`, or until somebody should look whether the run is over.
    fn wait(&self, due: Time) {
        let patience = Duration::from_nanos(u64::try_from(PATIENCE.as_nanos()).unwrap_or(u64::MAX));
        let left = self.clock.until(due).min(patience);
        // An interrupted wait is only shorter.
        let _ = poll(&mut [PollFd::new(self.socket, PollFlags::IN)], Some(&timespec(left)));
        if due < self.clock.now() {
            self.shared.promptness.add(self.clock.now().since(due));
        }
    }

    /// Hands over what has arrived, and a timer that is due.
    fn receive(&mut self, end: &mut dyn Endpoint, mut hear: impl FnMut(Time, dumbbell_transport::News)) {
        for _ in 0..READ_AT_ONCE {
            let Ok((length, _)) = recv(self.socket, &mut self.arrived[..], RecvFlags::DONTWAIT) else { break };
            let now = self.clock.now();
            let size = u16::try_from(length + HEADER).unwrap_or(u16::MAX);
            let arrival = Arrival { size, ecn: Ecn::NotEct, payload: &self.arrived[..length] };
            hear(now, end.on_packet(now, arrival));
        }
        let now = self.clock.now();
        if end.next_timer() <= now {
            end.on_timer(now);
        }
    }
}

/// What the application of a flow writes, and when.
struct Writer {
    mss: u64,
    /// Bytes that it has still to write; `None` has no end.
    left: Option<u64>,
    /// Bytes of a write and the time between two, where it has a rate.
    paced: Option<(u64, Duration)>,
    next: Time,
    /// It was stopped before it had written everything.
    is_cut: bool,
}

impl Writer {
    fn new(application: Application, now: Time) -> Writer {
        let mss = u64::from(application.mss);
        let paced = application.rate.map(|rate| {
            let bytes = application.write.unwrap_or(mss);
            (bytes, Duration::from_nanos(bytes.saturating_mul(8 * 1_000_000_000) / rate.max(1)))
        });
        Writer { mss, left: application.bytes, paced, next: now, is_cut: false }
    }

    /// When it writes next.
    fn next(&self) -> Time {
        self.next
    }

    /// Whether it has written all that it ever will, as it meant to.
    fn is_done(&self) -> bool {
        self.next == Time::NEVER && !self.is_cut
    }

    fn stop(&mut self) {
        self.is_cut = true;
        self.next = Time::NEVER;
    }

    /// Writes what is due.
    fn write_due(&mut self, now: Time, end: &mut dyn Endpoint) {
        while self.next <= now {
            let bytes = match self.paced {
                Some((bytes, _)) => self.left.map_or(bytes, |left| left.min(bytes)),
                None => self.left.unwrap_or(u64::MAX),
            };
            let segments = bytes.div_ceil(self.mss);
            let last_len = bytes - segments.saturating_sub(1) * self.mss;
            end.on_application(
                now,
                Act::Write {
                    segments: u32::try_from(segments).unwrap_or(u32::MAX),
                    last_len: u16::try_from(last_len).unwrap_or(u16::MAX),
                },
            );
            self.left = self.left.map(|left| left - bytes);
            self.next = match self.paced {
                Some((_, interval)) if self.left != Some(0) => self.next + interval,
                _ => Time::NEVER,
            };
        }
    }
}
