//! A host: a network namespace with one device, whose other end the emulator holds, and the sockets of its flows.
//!
//! What is made in a namespace belongs to it and keeps it alive: the thread that made it ends at once, and when the
//! process ends, however it ends, nothing of it is left.

use crate::netlink::Netlink;
use crate::settings::Settings;
use crate::{FlowFault, RunError, sys};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::fs::OpenOptionsExt;

/// Where the kernel hands out TUN devices.
pub const TUN: &str = "/dev/net/tun";
const DEVICE: &str = "path0";
/// Every namespace has it, and programs may rely on it.
const LOOPBACK: u32 = 1;
const LOOPBACK_MTU: u32 = 65_536;
/// Packets that the device holds for the emulator: more than a window of the largest path here, so that nothing is
/// dropped but by links.
const QUEUE_LENGTH: u32 = 20_000;
/// The port of the first flow; the others follow.
pub const FIRST_PORT: u16 = 10_000;

/// Which end of its flows a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where their data comes from.
    Sender,
    /// Where it goes to.
    Receiver,
}

impl Side {
    /// Both, in the order of their numbers.
    pub const BOTH: [Side; 2] = [Side::Sender, Side::Receiver];

    /// Its address.
    pub fn address(self) -> Ipv4Addr {
        match self {
            Side::Sender => Ipv4Addr::new(10, 0, 0, 1),
            Side::Receiver => Ipv4Addr::new(10, 0, 0, 2),
        }
    }

    /// The side at the other end.
    pub fn other(self) -> Side {
        match self {
            Side::Sender => Side::Receiver,
            Side::Receiver => Side::Sender,
        }
    }
}

/// The end of a flow's connection at a host.
pub fn place(side: Side, flow: usize) -> SocketAddrV4 {
    SocketAddrV4::new(side.address(), FIRST_PORT + u16::try_from(flow).unwrap_or(u16::MAX - FIRST_PORT))
}

/// A host.
pub struct Host {
    /// The emulator's end of its device; reading does not block.
    pub device: OwnedFd,
    /// A socket for every flow of the kernel's own: one to connect at the sender, one that listens at the receiver.
    pub sockets: Vec<Option<OwnedFd>>,
    /// The namespace's counters of devices and of TCP.
    devices: File,
    counters: File,
    datagrams: File,
    namespace: File,
}

impl Host {
    /// Makes the hosts of senders and of receivers, for flows with these algorithms; one that has none has no socket.
    pub fn pair<'a>(
        settings: &Settings,
        algorithms: impl Fn(Side) -> Vec<Option<&'a str>>,
    ) -> Result<[Host; 2], RunError> {
        let [sender, receiver] = Side::BOTH.map(|side| Host::new(side, settings, &algorithms(side)));
        Ok([sender?, receiver?])
    }

    fn new(side: Side, settings: &Settings, algorithms: &[Option<&str>]) -> Result<Host, RunError> {
        std::thread::scope(|scope| {
            let made = scope.spawn(|| Host::in_own_namespace(side, settings, algorithms)).join();
            made.unwrap_or_else(|_| Err(RunError::Machine("the thread of a host has failed".to_owned())))
        })
    }

    fn in_own_namespace(side: Side, settings: &Settings, algorithms: &[Option<&str>]) -> Result<Host, RunError> {
        sys::unshare_network().map_err(|error| RunError::Namespace(error.to_string()))?;
        let machine = |what: &'static str| move |error: io::Error| RunError::Machine(format!("{what}: {error}"));
        settings.apply()?;
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(TUN)
            .map_err(|error| RunError::Tun(error.to_string()))?;
        sys::attach_tun(&device, DEVICE).map_err(|error| RunError::Tun(error.to_string()))?;
        let socket = tcp_socket().map_err(machine("cannot make a socket"))?;
        let index = name_to_index(&socket, DEVICE).map_err(|error| machine("cannot find the device")(error.into()))?;
        let netlink = Netlink::new().map_err(machine("cannot reach netlink"))?;
        netlink.bring_up(LOOPBACK, LOOPBACK_MTU, QUEUE_LENGTH).map_err(machine("cannot bring up the loopback"))?;
        netlink.bring_up(index, settings.mtu, QUEUE_LENGTH).map_err(machine("cannot bring up the device"))?;
        netlink.add_address(index, side.address()).map_err(machine("cannot give the device its address"))?;
        netlink
            .add_route(index, side.other().address(), settings.initial_cwnd)
            .map_err(machine("cannot set the route"))?;
        let sockets = algorithms.iter().enumerate();
        let sockets = sockets
            .map(|(flow, algorithm)| {
                algorithm.map(|algorithm| flow_socket(side, flow, algorithm, settings.nodelay)).transpose()
            })
            .collect::<Result<_, _>>()?;
        let open = |name: &str| File::open(name).map_err(machine("cannot open what the namespace shows of itself"));
        Ok(Host {
            device: device.into(),
            sockets,
            devices: open("/proc/thread-self/net/dev")?,
            counters: open("/proc/thread-self/net/netstat")?,
            datagrams: open("/proc/thread-self/net/snmp")?,
            namespace: open("/proc/thread-self/ns/net")?,
        })
    }

    /// Moves the calling thread, and the programs that it starts, to this host.
    pub fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// Packets that the device has dropped by itself, in either direction; `None` where the kernel does not tell.
    pub fn local_drops(&self) -> Option<u64> {
        drops_of_device(&reread(&self.devices).ok()?)
    }

    /// Datagrams for which sockets had no room, in either direction; `None` where the kernel does not tell.
    pub fn refused_datagrams(&self) -> Option<u64> {
        refused_datagrams(&reread(&self.datagrams).ok()?)
    }

    /// The counters of TCP that are not zero (`TcpExt` of `/proc/net/netstat`).
    pub fn tcp_counters(&self) -> io::Result<BTreeMap<String, u64>> {
        let text = reread(&self.counters)?;
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
        let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let pairs = names.split(' ').zip(values.split(' ').map(|value| value.parse().unwrap_or(0)));
        Ok(pairs.filter(|(_, value)| *value > 0).map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// The drops of the device in the text of `/proc/net/dev`.
fn drops_of_device(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':'))?;
    let numbers: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    // Eight columns of what was received and eight of what was sent; drops are the fourth of each.
    Some(numbers.get(3)? + numbers.get(11)?)
}

/// What sockets of UDP had no room for, in the text of `/proc/net/snmp`.
fn refused_datagrams(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let of = |wanted: &str| {
        let place = names.split(' ').position(|name| name == wanted)?;
        values.split(' ').nth(place)?.parse::<u64>().ok()
    };
    Some(of("RcvbufErrors")? + of("SndbufErrors")?)
}

fn tcp_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// The socket of a flow.
fn flow_socket(side: Side, flow: usize, algorithm: &str, nodelay: bool) -> Result<OwnedFd, RunError> {
    let machine = |error: io::Error| RunError::Machine(format!("cannot make the socket of flow {flow}: {error}"));
    let socket = tcp_socket().map_err(machine)?;
    sockopt::set_tcp_congestion(&socket, algorithm).map_err(|errno| match errno {
        Errno::NOENT => FlowFault::UnknownAlgorithm { available: available_algorithms() }.of(flow, algorithm),
        Errno::PERM => FlowFault::ForbiddenAlgorithm.of(flow, algorithm),
        other => machine(other.into()),
    })?;
    // Whatever closes it, the process's end included, leaves no connection behind that would hold the namespace.
    let made = sockopt::set_socket_linger(&socket, Some(std::time::Duration::ZERO))
        .and_then(|()| sockopt::set_tcp_nodelay(&socket, nodelay))
        .and_then(|()| bind(&socket, &place(side, flow)))
        .and_then(|()| if side == Side::Receiver { listen(&socket, 1) } else { Ok(()) });
    made.map_err(|errno| machine(errno.into()))?;
    Ok(socket)
}

/// The algorithms that the kernel has, as it lists them.
pub fn available_algorithms() -> String {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    list.split_whitespace().collect::<Vec<_>>().join(", ")
}

fn reread(mut file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_without_room_are_counted_in_both_directions() {
        let text = "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams NoPorts RcvbufErrors SndbufErrors\nUdp: 9 0 3 4\n";
        assert_eq!(refused_datagrams(text), Some(7));
        assert_eq!(refused_datagrams("Udp: InDatagrams\nUdp: 9\n"), None);
    }

    #[test]
    fn drops_that_the_kernel_does_not_tell_are_not_none() {
        let header =
            "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop\n    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let told = format!("{header}{DEVICE}: 1 2 3 4 0 0 0 0 9 9 9 5 0 0 0 0\n");
        assert_eq!(drops_of_device(&told), Some(9));
        assert_eq!(drops_of_device(header), None, "no such device");
        assert_eq!(drops_of_device(&format!("{header}{DEVICE}: 1 2 3 4\n")), None, "half a line");
        assert_eq!(drops_of_device(&told.replace(" 4 ", " many ")), None);
    }
}
