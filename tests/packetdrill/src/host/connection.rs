//! An established connection: the two directions over the endpoints, in bytes, with timestamps in milliseconds.
//!
//! The endpoints count segments, and each has one direction. A script may use both: what is acknowledged rides on data
//! that leaves in the same instant.

use super::accurate::Accurate;
use super::clocks::Clocks;
use super::closing::{Closing, TcpState};
use super::device::Device;
use super::memory::{Fate, Memory};
use super::negotiation::reflecting;
use super::stamps::Stamps;
use super::writing::Writing;
use super::{Emitted, Ending, MILLISECOND, Peer};
use crate::script::{Direction, Flags, Options, Packet};
use crate::stream::Stream;
use dumbbell_cc::CaState;
use dumbbell_path::Ecn;
use dumbbell_transport::{
    Ack, AdvertisedWindow, Flags as SegmentFlags, Held, Limit, Receiver, SackBlock, Segment, Sender, Timestamp,
};
use dumbbell_units::{Duration, Time};
use std::collections::{HashSet, VecDeque};

/// Both directions of an established connection.
pub(super) struct Connection {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) outgoing: Stream,
    pub(super) incoming: Stream,
    pub(super) isn: u32,
    pub(super) peer: Peer,
    pub(super) mss: u64,
    /// Payload bytes of the other end's full segments.
    pub(super) peer_segment: u32,
    /// The longest that it has sent so far, without receive offload (`rcv_mss`).
    pub(super) rcv_mss: u32,
    /// The host's own maximum segment size.
    pub(super) own_mss: u32,
    /// The receive buffer that the application has asked for.
    pub(super) memory: Option<Memory>,
    pub(super) closing: Closing,
    pub(super) clocks: Clocks,
    pub(super) stamps: Stamps,
    pub(super) timestamps: bool,
    pub(super) ecn: bool,
    /// Where the ends count marks.
    pub(super) accurate: Option<Accurate>,
    pub(super) writing: Writing,
    /// Whether ACKs echo congestion.
    pub(super) echoes: bool,
    /// Segments of the other end that have arrived.
    pub(super) arrived: HashSet<u32>,
    pub(super) dsack: bool,
    pub(super) last_ack: u32,
    /// The window of the last ACK, in bytes.
    pub(super) own_window: u64,
    pub(super) last_echo: Timestamp,
    /// The latest timestamp of the other end that a packet without data brought; those of data are the receiver's.
    pub(super) plain_timestamp: Option<u32>,
    pub(super) last_window: u32,
    /// The largest window that the other end has told, in bytes (`max_window`).
    pub(super) largest_window: u64,
    pub(super) read: u64,
    pub(super) retransmitted_bytes: u64,
    /// When something was first sent again since data was last acknowledged (`retrans_stamp`).
    pub(super) first_retransmission: Option<Time>,
    pub(super) device: Device,
    pub(super) sent_bytes: u64,
    pub(super) invalid_ratelimit: Duration,
    /// When the latest challenge ACK left.
    pub(super) challenged_at: Option<Time>,
}

/// The clock of timestamps.
pub(super) fn milliseconds(time: Time) -> u32 {
    (time.as_nanos() / MILLISECOND) as u32
}

impl Connection {
    pub(super) fn next_timer(&self) -> Time {
        self.sender
            .next_timer()
            .min(self.receiver.next_timer())
            .min(self.closing.ack_due())
            .min(self.writing.next_timer())
            .min(self.device.next_timer())
    }

    pub(super) fn on_timer(&mut self, now: Time, sent: &mut VecDeque<Emitted>) {
        if self.sender.next_timer() <= now {
            self.sender.on_timer(now);
            self.transmit(now, sent);
        }
        if self.receiver.next_timer() <= now
            && let Some(ack) = self.receiver.on_timer(now)
            && !(ack.ack == self.last_ack && ack.sack_count == 0)
        {
            self.emit_ack(now, &ack, sent);
        }
        if self.closing.ack_due() <= now {
            self.acknowledge_all(now, sent);
        }
        self.release_when_due(now);
        self.probe_device(now);
        self.transmit(now, sent);
    }

    pub(super) fn last_delivered(&self) -> u32 {
        self.receiver.stats().delivered_segments as u32
    }

    pub(super) fn receive(
        &mut self,
        now: Time,
        packet: &Packet,
        echo: Option<Time>,
        sent: &mut VecDeque<Emitted>,
    ) -> Ending {
        let fate = self.fate(packet);
        if fate == Fate::Unacceptable {
            self.answer_dropped(now, packet, sent);
            return Ending::None;
        }
        self.note_timestamp(packet);
        let is_left_alone = self.is_left_alone();
        let is_longest = packet.len.min(self.peer_segment) > self.rcv_mss;
        if packet.len > 0 {
            self.clocks.last_data_received = now;
            self.rcv_mss = self.rcv_mss.max(packet.len.min(self.peer_segment));
        }
        let is_duplicate = self.is_duplicate(packet);
        if let Some(accurate) = &mut self.accurate {
            accurate.note_arrival(packet, is_duplicate);
        }
        if packet.flags.has(Flags::ACK) {
            self.hear(now, packet, echo);
        }
        if self.refuses(packet) {
            return Ending::Refused;
        }
        if matches!(fate, Fate::Beyond | Fate::Closed | Fate::NoMemory) {
            self.answer_dropped(now, packet, sent);
            return Ending::None;
        }
        let had_ended = self.has_ended();
        self.note_fin(packet);
        let has_own = self.closing.own().is_some();
        self.keep(packet, is_longest);
        let mut acks = if packet.space() > 0 { self.take(now, packet, echo) } else { Vec::new() };
        self.hold_back(now, packet, &mut acks);
        let mut answers = self.has_ended() && !had_ended && self.answers_fin(now, has_own, &mut acks);
        answers |= fate == Fate::TakenAndTold;
        let left_before = sent.len();
        self.transmit(now, sent);
        if answers && sent.len() == left_before {
            if is_left_alone {
                self.answer_alone(now, sent);
            } else {
                self.acknowledge_all(now, sent);
            }
        }
        // Data that leaves now says what a plain ACK would say, and more does not fit.
        let has_left = sent.len() > left_before;
        for ack in acks {
            if !has_left || ack.sack_count > 0 {
                self.emit_ack(now, &ack, sent);
            }
        }
        match self.tcp_state() {
            TcpState::Close => Ending::Over,
            TcpState::TimeWait => Ending::TimeWait,
            _ => Ending::None,
        }
    }

    /// Where the data of a packet begins, in bytes.
    pub(super) fn start_of(&self, packet: &Packet) -> u64 {
        u64::from(packet.seq.wrapping_sub(self.peer.isn.wrapping_add(1)))
    }

    /// Whether all data of a packet has arrived before.
    fn is_duplicate(&self, packet: &Packet) -> bool {
        let start = self.start_of(packet);
        let end = self.incoming.byte(self.last_delivered());
        packet.space() > 0 && start < u64::from(u32::MAX / 2) && start + u64::from(packet.space()) <= end
    }

    /// The packet arrives that ends the handshake of a server. Its data, if it has any, is received afterwards.
    pub(super) fn note_end_of_handshake(&mut self, now: Time, packet: &Packet, echo: Option<Time>) {
        self.note_timestamp(packet);
        if packet.len > 0 {
            return;
        }
        if let Some(accurate) = &mut self.accurate {
            accurate.note_arrival(packet, false);
        }
        // It tells the bytes of the window beyond whole segments.
        self.hear(now, packet, echo);
    }

    /// Keeps the timestamp of a packet without data, if it is no older and the packet is not ahead of the last ACK
    /// sent.
    fn note_timestamp(&mut self, packet: &Packet) {
        let timestamp = packet.options.as_ref().and_then(|options| options.timestamp);
        let (Some((val, _)), Some(known)) = (timestamp, self.plain_timestamp) else { return };
        let start = self.start_of(packet);
        let is_newer = val.wrapping_sub(known) < u32::MAX / 2;
        if packet.len == 0 && is_newer && start <= self.incoming.byte(self.last_ack) {
            self.plain_timestamp = Some(val);
        }
    }

    /// What the next packet echoes when the receiver's own answer is `echo`.
    fn echoed(&self, echo: Timestamp) -> Option<u32> {
        let (val, at) = self.peer.clock?;
        let age = echo.ms_since(Timestamp::at(at));
        let of_data = if echo == Timestamp::default() { val } else { val.wrapping_add_signed(age) };
        let plain = self.plain_timestamp.unwrap_or(val);
        Some(if plain.wrapping_sub(of_data) < u32::MAX / 2 { plain } else { of_data })
    }

    /// The acknowledging part of a packet.
    fn hear(&mut self, now: Time, packet: &Packet, echo: Option<Time>) {
        let Some(number) = packet.ack else { return };
        let byte = u64::from(number.wrapping_sub(self.isn.wrapping_add(1)));
        let nxt = self.sender.view().snd_nxt;
        if byte > self.outgoing.byte(nxt as u32) && byte < u64::from(u32::MAX / 2) {
            return;
        }
        let ack_segment = if byte > u64::from(u32::MAX / 2) { 0 } else { self.outgoing.whole_below(byte) };
        let window_field = packet.window.unwrap_or(self.last_window);
        let window_bytes = u64::from(window_field) << self.peer.wscale.unwrap_or(0).min(14);
        self.largest_window = self.largest_window.max(window_bytes);
        let blocks = packet.options.as_ref().map(|options| &options.sack[..]).unwrap_or_default();
        let has_news = u64::from(ack_segment) > self.sender.view().snd_una || !blocks.is_empty();
        let opens = window_field != self.last_window;
        self.last_window = window_field;
        if packet.len > 0 && !has_news && !opens {
            return;
        }
        let mut ack = Ack {
            ack: ack_segment,
            sack: [SackBlock::default(); Ack::MAX_SACK_BLOCKS],
            sack_count: 0,
            ece: self.ecn && self.accurate.is_none() && packet.flags.has(Flags::ECE),
            marks: self.accurate.as_ref().map(|accurate| accurate.marks(packet)),
            window: AdvertisedWindow::new((window_bytes / self.mss) as u32, (window_bytes % self.mss) as u16),
            sent_at: Timestamp::at(self.peer.left_at(now, packet)),
            echo: Timestamp::at(echo.filter(|_| self.timestamps).unwrap_or(now)),
        };
        for &(start, end) in blocks.iter().filter(|_| self.peer.sack).take(Ack::MAX_SACK_BLOCKS) {
            let offset = |number: u32| u64::from(number.wrapping_sub(self.isn.wrapping_add(1)));
            let block = SackBlock {
                start: self.outgoing.first_from(offset(start)),
                end: self.outgoing.whole_below(offset(end)),
            };
            // What reports more than was sent is not believed (`tcp_is_sackblock_valid`).
            if u64::from(block.end) > nxt {
                continue;
            }
            if block.start < block.end {
                ack.sack[usize::from(ack.sack_count)] = block;
                ack.sack_count += 1;
            }
        }
        let waiting = self.outgoing.end() - self.outgoing.byte(nxt as u32);
        self.device.note_ack(window_bytes >= self.mss.min(waiting.max(1)));
        let delivered_before = self.sender.view().delivered;
        self.clocks.last_ack_received = now;
        if u64::from(ack_segment) > self.sender.view().snd_una {
            self.first_retransmission = None;
        }
        self.sender.on_ack(now, &ack);
        self.stamps.note_acknowledged(now, self.outgoing.byte(ack_segment));
        let told = packet.options.as_ref().and_then(|options| options.counters);
        if let (Some(accurate), Some(told)) = (&mut self.accurate, told)
            && self.sender.view().delivered > delivered_before
        {
            accurate.note_told(told);
        }
        self.release_after_ack(now);
    }

    /// The data of a packet; the ACKs it causes at once.
    fn take(&mut self, now: Time, packet: &Packet, echo: Option<Time>) -> Vec<Ack> {
        let start = self.start_of(packet);
        let first = self.incoming.first_from(start);
        let end = self.incoming.whole_below(start + u64::from(packet.space()));
        let sent_at = self.peer.left_at(now, packet);
        let parts: Vec<Segment> = (first..end)
            .map(|seq| {
                let pushed = SegmentFlags::PSH.bits() * u8::from(packet.flags.has(Flags::PSH) && seq + 1 == end);
                let reduced = SegmentFlags::CWR.bits() * u8::from(packet.flags.has(Flags::CWR) && seq == first);
                Segment {
                    seq,
                    len: self.incoming.len(seq) as u16,
                    ecn: if self.ecn { packet.ecn.unwrap_or_default() } else { Ecn::NotEct },
                    flags: SegmentFlags::from_bits(pushed | reduced),
                    sent_at,
                    echo: Timestamp::at(echo.unwrap_or(now)),
                }
            })
            .collect();
        if let [only] = parts[..] {
            self.arrived.insert(only.seq);
            return self.take_part(now, only);
        }
        self.take_parts(now, &parts)
    }

    /// A segment arrives; the ACKs that it causes.
    fn take_part(&mut self, now: Time, part: Segment) -> Vec<Ack> {
        let mut acks: Vec<Ack> = self.receiver.on_segment(now, part).into_iter().collect();
        if self.receiver.next_timer() <= now {
            acks.extend(self.receiver.on_timer(now));
        }
        acks
    }

    /// A packet that the script's cuts divide, or one larger than a segment, is still one packet: its last ACK stands
    /// for all. If part of it had arrived before, that is reported as a duplicate: the first piece of it, as Linux
    /// does.
    fn take_parts(&mut self, now: Time, parts: &[Segment]) -> Vec<Ack> {
        let (news, old): (Vec<Segment>, Vec<Segment>) =
            parts.iter().partition(|part| !self.arrived.contains(&part.seq));
        self.arrived.extend(news.iter().map(|part| part.seq));
        let fed = if news.is_empty() { &old } else { &news };
        let mut last = None;
        for part in fed {
            last = self.take_part(now, *part).pop().or(last);
        }
        let reports = self.dsack && self.peer.sack;
        if let (Some(ack), Some(first)) = (&mut last, old.first().filter(|_| reports)) {
            let end = old.windows(2).take_while(|pair| pair[1].seq == pair[0].seq + 1).count() as u32;
            report_duplicate(ack, SackBlock { start: first.seq, end: first.seq + end + 1 });
        }
        // It is sent when all of the packet has arrived.
        if let Some(ack) = last.as_mut().filter(|ack| ack.sack_count == 0) {
            ack.ack = self.last_delivered();
        }
        last.into_iter().collect()
    }

    /// Sends what may leave.
    pub(super) fn transmit(&mut self, now: Time, sent: &mut VecDeque<Emitted>) {
        self.transmit_all(now, sent);
        self.note_room(now);
        let has_work = self.sender.view().packets_out > 0 || self.sender.queued_segments() > 0;
        let waits = self.writing.held() > 0;
        let limit = match self.sender.held_by() {
            _ if waits => Limit::Nagle,
            // A window that is used up to half and more counts before a send buffer (`tcp_cwnd_validate`).
            Limit::SendBuffer if self.sender.view().is_cwnd_limited(self.sender.control()) => Limit::Cwnd,
            limit => limit,
        };
        self.clocks.note(now, (has_work || waits).then_some(limit));
    }

    fn transmit_all(&mut self, now: Time, sent: &mut VecDeque<Emitted>) {
        if self.device.is_full() {
            self.wait_for_device(now);
            return;
        }
        while let Some(burst) = self.sender.poll_transmit(now) {
            let segments: Vec<Segment> = burst.collect();
            let (Some(first), Some(last)) = (segments.first(), segments.last()) else { continue };
            if first.len == 0 {
                // A window probe: a byte that is acknowledged, without that byte.
                self.device.note_window_probe(now);
                let una = self.outgoing.byte(self.sender.view().snd_una as u32);
                let packet = self.packet(Flags::NONE, una.wrapping_sub(1), 0, first.sent_at);
                let packet = self.telling_window(packet);
                sent.push_back(Emitted { at: now, packet, stamp: first.sent_at });
                continue;
            }
            let (start, end) = (self.outgoing.byte(first.seq), self.outgoing.byte(last.seq + 1));
            let ends = self.closing.own().is_some_and(|byte| end > byte);
            let len = end - start - u64::from(ends);
            self.sent_bytes += len;
            self.clocks.last_data_sent = now;
            if burst.is_retransmission {
                self.first_retransmission.get_or_insert(now);
                self.retransmitted_bytes += len;
            }
            self.stamps.note_sent(now, start, start + len);
            let is_marked = last.flags.has(SegmentFlags::PSH);
            let pushes = self.writing.pushes_at(start + len, is_marked, segments.len());
            let flags = Flags::PSH.when(pushes && len > 0)
                | Flags::CWR.when(first.flags.has(SegmentFlags::CWR) && len > 0)
                | Flags::FIN.when(ends);
            let packet = self.packet(flags, start, len, first.sent_at);
            let packet = self.telling_window(packet);
            self.closing.note_acknowledged();
            // Classic ECN is for data, accurate ECN for every packet (RFC 9768, section 3.1.4).
            let ecn = if len > 0 && !self.is_bleached() { Some(first.ecn) } else { packet.ecn };
            sent.push_back(Emitted { at: now, packet: Packet { ecn, ..packet }, stamp: first.sent_at });
        }
    }

    /// Answers with an ACK of all that has come in order.
    pub(super) fn acknowledge_all(&mut self, now: Time, sent: &mut VecDeque<Emitted>) {
        self.last_ack = self.last_delivered();
        self.closing.note_acknowledged();
        let packet = self.plain_ack(now);
        let packet = self.telling_window(packet);
        sent.push_back(Emitted { at: now, packet, stamp: now });
    }

    /// A packet with everything that all have.
    pub(super) fn packet(&self, flags: Flags, start: u64, len: u64, stamp: Time) -> Packet {
        let ack = self.incoming.byte(self.last_ack.max(self.last_delivered()));
        let marks = self.receiver.stats().ce_segments;
        let (ecn, echo) = match &self.accurate {
            Some(accurate) => (if self.is_bleached() { Ecn::NotEct } else { Ecn::Ect0 }, accurate.flags(marks)),
            None => (Ecn::NotEct, Flags::ECE.when(self.echoes)),
        };
        Packet {
            direction: Direction::Outbound,
            ecn: Some(ecn),
            flags: flags | Flags::ACK | echo,
            seq: self.isn.wrapping_add(1).wrapping_add(start as u32),
            len: len as u32,
            ack: Some(self.peer.isn.wrapping_add(1).wrapping_add(ack as u32)),
            window: None,
            options: Some(Options {
                timestamp: self.echoed(self.last_echo).map(|echo| (milliseconds(stamp), echo)),
                counters: self.accurate.as_ref().and_then(Accurate::whole_option),
                ..Options::default()
            }),
        }
    }

    fn is_bleached(&self) -> bool {
        self.accurate.as_ref().is_some_and(|accurate| accurate.handshake.is_bleached)
    }

    /// AccECN's option is sent from now on, or no longer: segments have room for more, or for less. Those that have
    /// left keep their size, so nothing may be in flight.
    pub(super) fn set_ecn_option(&mut self, is_sent: bool) -> Result<(), String> {
        let Some(accurate) = &mut self.accurate else { return Ok(()) };
        let before = accurate.option_bytes();
        accurate.sends_option = is_sent;
        let mss = self.mss + before - accurate.option_bytes();
        if mss != self.mss && !(self.sender.is_idle() && self.writing.held() == 0) {
            return Err("segments of another size while others are in flight".to_owned());
        }
        if mss != self.mss {
            self.mss = mss;
            self.sender.set_segment(mss as u16);
        }
        Ok(())
    }

    /// An ACK without news.
    pub(super) fn plain_ack(&self, now: Time) -> Packet {
        let nxt = self.outgoing.byte(self.sender.view().snd_nxt as u32);
        self.packet(Flags::NONE, nxt, 0, now)
    }

    /// The ACK of the answer to a SYN.
    pub(super) fn end_handshake(&self, now: Time, sent: &mut VecDeque<Emitted>) {
        let mut packet = self.plain_ack(now);
        if let Some(accurate) = &self.accurate {
            packet.flags = Flags::ACK | reflecting(accurate.handshake.arrived);
        }
        sent.push_back(Emitted { at: now, packet, stamp: now });
    }

    fn emit_ack(&mut self, now: Time, ack: &Ack, sent: &mut VecDeque<Emitted>) {
        self.last_ack = ack.ack;
        self.closing.note_acknowledged();
        self.own_window = u64::from(ack.window.segments()) * self.incoming.len(ack.ack.saturating_sub(1));
        self.last_echo = ack.echo;
        self.echoes = self.ecn && ack.ece;
        let offset = |segment: u32| self.peer.isn.wrapping_add(1).wrapping_add(self.incoming.byte(segment) as u32);
        let mut packet = self.plain_ack(now);
        packet.ack = Some(offset(ack.ack));
        let told = ack.marks.zip(self.accurate.as_ref());
        packet.options = Some(Options {
            timestamp: self.echoed(ack.echo).map(|echo| (milliseconds(now), echo)),
            sack: ack.sack_blocks().iter().map(|block| (offset(block.start), offset(block.end))).collect(),
            counters: told.and_then(|(marks, accurate)| accurate.option(marks.counters(), marks.bytes())),
            ..Options::default()
        });
        let reports_duplicate = ack.sack_blocks().first().is_some_and(|first| first.end <= ack.ack);
        if let Some(accurate) = self.accurate.as_mut().filter(|_| reports_duplicate) {
            accurate.note_reported_duplicate();
        }
        let packet = self.telling_window(packet);
        sent.push_back(Emitted { at: now, packet, stamp: now });
    }

    /// A field of `struct tcp_info` when the connection was given up: its queue is empty, and other numbers are the
    /// last ones (`tcp_write_queue_purge`).
    pub(super) fn info_given_up(&self, now: Time, name: &str) -> Option<i64> {
        match name {
            "tcpi_state" => Some(TcpState::Close as i64),
            "tcpi_unacked" | "tcpi_backoff" => Some(0),
            _ => self.info(now, name),
        }
    }

    pub(super) fn info(&self, now: Time, name: &str) -> Option<i64> {
        if let Some(value) = self.clocks.info(now, name).or_else(|| self.probe_info(name)) {
            return Some(value);
        }
        let marks = self.sender.view().delivered_ce;
        if let Some(value) = self.accurate.as_ref().and_then(|accurate| accurate.info(name, marks)) {
            return Some(value);
        }
        let (view, control, stats) = (self.sender.view(), self.sender.control(), self.sender.stats());
        let received = self.receiver.stats();
        let byte = |segment: u64| self.outgoing.byte(segment as u32) as i64;
        let min_rtt = if view.min_rtt_us == dumbbell_cc::View::UNKNOWN_RTT { u32::MAX } else { view.min_rtt_us };
        let value = match name {
            "tcpi_state" => self.tcp_state() as i64,
            "tcpi_snd_cwnd" => i64::from(control.cwnd),
            "tcpi_snd_ssthresh" => i64::from(control.ssthresh),
            "tcpi_ca_state" => match view.ca_state {
                CaState::Open => 0,
                CaState::Disorder => 1,
                CaState::Cwr => 2,
                CaState::Recovery => 3,
                CaState::Loss => 4,
            },
            "tcpi_unacked" => i64::from(view.packets_out),
            "tcpi_sacked" => i64::from(view.sacked_out),
            "tcpi_lost" => i64::from(view.lost_out),
            "tcpi_retrans" => i64::from(view.retrans_out),
            "tcpi_fackets" => 0,
            "tcpi_reordering" => i64::from(self.sender.reordering()),
            "tcpi_rtt" => i64::from(view.srtt_us_x8 >> 3),
            "tcpi_min_rtt" => i64::from(min_rtt),
            "tcpi_rto" => self.sender.rto().as_micros() as i64,
            "tcpi_reord_seen" => i64::from(self.sender.reorderings_seen()),
            "tcpi_rcv_mss" => i64::from(self.rcv_mss),
            "tcpi_advmss" => i64::from(self.own_mss),
            "tcpi_snd_mss" => self.mss as i64,
            "tcpi_delivered" => view.delivered as i64,
            "tcpi_delivered_ce" => view.delivered_ce as i64,
            "tcpi_total_retrans" => stats.retransmitted_segments as i64,
            "tcpi_bytes_sent" => self.sent_bytes as i64,
            "tcpi_bytes_retrans" => self.retransmitted_bytes as i64,
            "tcpi_dsack_dups" => stats.dsacked_segments as i64,
            "tcpi_data_segs_out" => stats.sent_segments as i64,
            "tcpi_data_segs_in" => received.arrived_segments as i64,
            "tcpi_bytes_received" => self.incoming.byte(self.last_delivered()) as i64,
            "tcpi_notsent_bytes" => {
                let written = view.snd_nxt + u64::from(self.sender.queued_segments());
                byte(written) - byte(view.snd_nxt) + self.writing.held() as i64
            }
            "tcpi_pacing_rate" => i64::try_from(control.pacing_rate).unwrap_or(i64::MAX),
            "tcpi_delivery_rate_app_limited" => i64::from(self.sender.last_sample().is_app_limited),
            "tcpi_options" => {
                i64::from(self.timestamps)
                    | i64::from(self.peer.sack) << 1
                    | i64::from(self.peer.wscale.is_some()) << 2
                    | i64::from(self.ecn) << 3
            }
            _ => return None,
        };
        Some(value)
    }
}

/// Makes `block` the duplicate that an ACK reports.
fn report_duplicate(ack: &mut Ack, block: SackBlock) {
    let reports_another = ack.sack_blocks().first().is_some_and(|first| first.end <= ack.ack);
    let kept = usize::from(ack.sack_count).min(Ack::MAX_SACK_BLOCKS - usize::from(!reports_another));
    if !reports_another {
        ack.sack.copy_within(..kept, 1);
    }
    ack.sack[0] = block;
    ack.sack_count = (kept + usize::from(!reports_another)) as u8;
}
