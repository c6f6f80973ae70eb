//! The system calls of a script: what the host is told to do, and what the calls return.

use crate::host::{Manner, Moment, START, Wanted};
use crate::judge::{Difference, End, Host, Progress, Run};
use crate::script::{Arg, Call, Event, seconds};
use dumbbell_units::Duration;

/// Bytes of a write at most.
const LARGEST_WRITE: u64 = 1 << 28;

impl<H: Host> Run<H> {
    /// A system call.
    pub(crate) fn call(&mut self, event: &Event, call: &Call) -> Result<(), End> {
        let foreign = |reason: String| Err(End::Foreign(event.place, reason));
        let is_refused = call.result.is_some_and(|result| result < 0);
        if self.connection.is_some() && call.int(0).is_some() && !self.is_known(call.int(0)) {
            return foreign(format!("`{}` on another socket", call.name));
        }
        match call.name.as_str() {
            "socket" => match (call.word(0), call.word(1)) {
                ("AF_INET6", _) => foreign("IPv6".to_owned()),
                (_, kind) if !kind.starts_with("SOCK_STREAM") => foreign(format!("`{kind}` sockets")),
                _ if self.listener.is_some() => foreign("a second socket".to_owned()),
                _ => {
                    self.listener = call.result;
                    Ok(())
                }
            },
            // Nowhere to read from or to write to.
            _ if call.args.get(1).is_some_and(|arg| arg.word() == Some("NULL")) && call.result == Some(-1) => {
                self.returned(event, call, Err("EFAULT"))
            }
            "bind" | "fcntl" | "open" | "poll" | "epoll_create" | "epoll_ctl" | "epoll_wait" | "getsockname"
            | "getpeername" => Ok(()),
            "listen" => {
                self.host.listen();
                Ok(())
            }
            "connect" if self.host.progress() > Progress::Closed => Ok(()),
            "connect" => {
                self.connection = call.int(0);
                self.host.connect();
                Ok(())
            }
            "accept" | "accept4" if is_refused && self.host.progress() < Progress::Established => {
                self.returned(event, call, Err("EAGAIN"))
            }
            "accept" | "accept4" if is_refused => foreign("a second connection".to_owned()),
            "accept" | "accept4" => {
                if self.connection.is_some() {
                    return foreign("a second connection".to_owned());
                }
                self.connection = call.result;
                Ok(())
            }
            "setsockopt" => self.set_option(event, call),
            "getsockopt" => Ok(()),
            _ => self.transfer(event, call),
        }
    }

    /// A call about the data of a connection, or its end.
    fn transfer(&mut self, event: &Event, call: &Call) -> Result<(), End> {
        let foreign = |reason: String| Err(End::Foreign(event.place, reason));
        let is_of_listener =
            self.host.progress() > Progress::Closed && call.int(0) == self.listener && self.connection != self.listener;
        match call.name.as_str() {
            "read" | "recv" | "recvfrom" | "recvmsg" if is_of_listener => self.returned(event, call, Err("ENOTCONN")),
            "write" | "send" | "sendto" | "sendmsg" | "writev" if is_of_listener => {
                self.returned(event, call, Err("EPIPE"))
            }
            "write" | "send" | "sendto" | "sendmsg" | "writev" | "sendfile" => self.write(event, call),
            "read" | "recv" | "recvfrom" => match call.message_flags().find(|&flag| flag != "MSG_DONTWAIT") {
                Some(flag) => foreign(format!("`{}` with {flag}", call.name)),
                None => self.read(event, call),
            },
            "recvmsg" => self.receive_message(event, call),
            "ioctl" if ["SIOCINQ", "FIONREAD", "SIOCOUTQ", "TIOCOUTQ"].contains(&call.word(1)) => {
                let queued = self.host.queued(["SIOCINQ", "FIONREAD"].contains(&call.word(1)));
                let expected = call.int(2).and_then(|bytes| u64::try_from(bytes).ok());
                self.same_number(event, call.word(1), expected, queued)
            }
            "shutdown" => {
                let how = call.word(1);
                self.host.shut_down(how != "SHUT_WR", how != "SHUT_RD");
                Ok(())
            }
            "close" => {
                self.closed.extend(call.int(0));
                if self.connection.is_some() && self.connection == call.int(0) {
                    self.host.close();
                }
                Ok(())
            }
            name => foreign(format!("`{name}`")),
        }
    }

    fn is_known(&self, descriptor: Option<i64>) -> bool {
        descriptor.is_none() || [self.listener, self.connection].contains(&descriptor)
    }

    /// The application writes.
    fn write(&mut self, event: &Event, call: &Call) -> Result<(), End> {
        let foreign = |reason| Err(End::Foreign(event.place, reason));
        let manner = match manner_of(call) {
            Ok(manner) => manner,
            Err(reason) => return foreign(reason),
        };
        self.end_waiting()?;
        if let Some(error) = self.host.refuses_writes() {
            return self.returned(event, call, Err(error));
        }
        match call.result.map_or(call.bytes_offered(), |bytes| u64::try_from(bytes).ok()) {
            Some(bytes) if bytes > LARGEST_WRITE => foreign(format!("a write of {bytes} bytes")),
            Some(bytes) if bytes > 0 => {
                self.write_seq = self.write_seq.wrapping_add(bytes as u32);
                self.write_ends.insert(self.write_seq);
                self.host.write(bytes, manner).or_else(foreign)?;
                self.waiting = self.until.map(|until| (event.place, until));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The application reads.
    fn read(&mut self, event: &Event, call: &Call) -> Result<(), End> {
        if event.until.is_some() {
            // It waits for data that a later event brings.
            return Ok(());
        }
        let most = call.int(2).and_then(|most| u64::try_from(most).ok()).unwrap_or(u64::MAX);
        self.host.read(most).map_or(Ok(()), |got| self.returned(event, call, got))
    }

    /// `recvmsg`, which may tell how many bytes are left (`TCP_INQ`).
    fn receive_message(&mut self, event: &Event, call: &Call) -> Result<(), End> {
        if call.word(2) == "MSG_ERRQUEUE" {
            return self.read_stamp(event, call);
        }
        if let Some(flag) = call.message_flags().next() {
            return Err(End::Foreign(event.place, format!("`recvmsg` with {flag}")));
        }
        let text = match call.args.get(1) {
            Some(Arg::Struct(text)) => text.as_str(),
            _ => "",
        };
        let most = call.bytes_of_message().unwrap_or(u64::MAX);
        if let Some(got) = self.host.read(most) {
            self.returned(event, call, got)?;
        }
        let Some((_, control)) = text.split_once("msg_control") else { return Ok(()) };
        let told = control.split_once("TCP_CM_INQ").and_then(|(_, rest)| rest.split_once("cmsg_data="));
        let told = told.and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
        let Some(told) = told else {
            return Err(End::Foreign(event.place, "what `recvmsg` tells beside data".to_owned()));
        };
        // An end that nothing is left before counts as a byte.
        let left = self.host.queued(true);
        let is_end = left == Some(0) && self.host.read(0) == Some(Ok(0));
        self.same_number(event, "TCP_CM_INQ", Some(told), left.map(|left| left + u64::from(is_end)))
    }

    /// `recvmsg` of a time stamp: of what, of which byte, and when.
    fn read_stamp(&mut self, event: &Event, call: &Call) -> Result<(), End> {
        let text = match call.args.get(1) {
            Some(Arg::Struct(text)) => text.as_str(),
            _ => "",
        };
        let value = |name: &str| {
            let (_, rest) = text.split_once(name)?;
            rest.strip_prefix('=')?.split([',', '}']).next().map(str::trim)
        };
        let number = |name: &str| value(name).and_then(|value| value.parse::<u64>().ok());
        let moment = match value("ee_info") {
            None => None,
            Some("SCM_TSTAMP_SCHED") => Some(Moment::Scheduled),
            Some("SCM_TSTAMP_SND") => Some(Moment::Sent),
            Some("SCM_TSTAMP_ACK") => Some(Moment::Acknowledged),
            Some(_) => {
                return Err(End::Foreign(event.place, "what `MSG_ERRQUEUE` tells beside time stamps".to_owned()));
            }
        };
        let Some(told) = self.host.next_stamp() else { return Ok(()) };
        self.returned(event, call, told.map(|_| 0))?;
        let (Some(moment), Ok(told)) = (moment, told) else { return Ok(()) };
        let nanos = number("scm_sec").unwrap_or(0) * 1_000_000_000 + number("scm_nsec").unwrap_or(0);
        let at = START + Duration::from_nanos(nanos);
        let is_near = told.at <= at + self.tolerance && at <= told.at + self.tolerance;
        let byte = number("ee_data").unwrap_or(0);
        if (told.moment, u64::from(told.byte)) == (moment, byte) && is_near {
            self.judged += 1;
            return Ok(());
        }
        let shown = |moment, byte, at| format!("{moment:?} of byte {byte} at {}", seconds(START, at));
        Err(End::Different(Difference {
            place: event.place,
            expected: shown(moment, byte, at),
            got: shown(told.moment, u64::from(told.byte), told.at),
        }))
    }

    /// A number that the kernel tells, which is judged where anybody knows it.
    pub(crate) fn same_number(
        &mut self,
        event: &Event,
        what: &str,
        expected: Option<u64>,
        got: Option<u64>,
    ) -> Result<(), End> {
        match (expected, got) {
            (Some(expected), Some(got)) if expected != got => Err(End::Different(Difference {
                place: event.place,
                expected: format!("{what} to be {expected}"),
                got: got.to_string(),
            })),
            (Some(_), Some(_)) => {
                self.judged += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A call returns `got`, which is judged.
    fn returned(&self, event: &Event, call: &Call, got: Result<u64, &'static str>) -> Result<(), End> {
        let is_expected = match (call.result, got) {
            (None, _) => true,
            (Some(expected), Ok(got)) => u64::try_from(expected) == Ok(got),
            (Some(expected), Err(error)) => expected < 0 && call.errno.as_deref().is_none_or(|name| name == error),
        };
        if is_expected {
            return Ok(());
        }
        let expected = call.errno.clone().or(call.result.map(|result| result.to_string())).unwrap_or_default();
        Err(End::Different(Difference {
            place: event.place,
            expected: format!("`{}` to return {expected}", call.name),
            got: got.map_or_else(str::to_owned, |got| got.to_string()),
        }))
    }

    fn set_option(&mut self, event: &Event, call: &Call) -> Result<(), End> {
        let option = call.args.get(2).and_then(crate::script::Arg::word).unwrap_or_default();
        let value = call.args.get(3).and_then(crate::script::Arg::int);
        match (option, value) {
            ("TCP_NODELAY", value) => self.host.set_nodelay(value != Some(0)),
            ("TCP_MAXSEG", Some(bytes)) => {
                let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                return self.host.set_max_segment(bytes).map_err(|reason| End::Foreign(event.place, reason));
            }
            ("TCP_USER_TIMEOUT", Some(millis)) => {
                self.host.set_user_timeout(Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
            }
            ("SO_TIMESTAMPING", _) => {
                let flags = call.args.get(3).map(Arg::words).unwrap_or_default();
                let wanted = Wanted::of(&flags).and_then(|wanted| self.host.want_stamps(wanted));
                return wanted.map_err(|reason| End::Foreign(event.place, reason));
            }
            ("TCP_CORK", value) => self.host.set_cork(value != Some(0)),
            (
                "SO_REUSEADDR" | "SO_REUSEPORT" | "TCP_CONGESTION" | "SO_SNDBUF" | "SO_SNDTIMEO" | "SO_RCVTIMEO"
                | "TCP_NOTSENT_LOWAT" | "TCP_INQ" | "IP_TOS" | "IP_MTU_DISCOVER" | "SO_KEEPALIVE" | "TCP_SYNCNT"
                | "SO_PRIORITY" | "SO_MARK",
                _,
            ) => {}
            ("SO_RCVBUF", Some(bytes)) => self.host.set_receive_buffer(u64::try_from(bytes).unwrap_or(0)),
            _ => return Err(End::Foreign(event.place, format!("the socket option `{option}`"))),
        }
        Ok(())
    }
}

/// How a call writes; the reason if that is not modelled.
fn manner_of(call: &Call) -> Result<Manner, String> {
    let mut manner = Manner::default();
    for flag in call.message_flags() {
        match flag {
            "MSG_MORE" => manner.more = true,
            "MSG_EOR" => manner.ends_record = true,
            "MSG_DONTWAIT" | "MSG_NOSIGNAL" => {}
            _ => return Err(format!("`{}` with {flag}", call.name)),
        }
    }
    Ok(manner)
}
