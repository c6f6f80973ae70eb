//! The three netlink requests that a host needs: bring up its device, give it an address, set a route.
//!
//! A request is a header, a fixed part and attributes, all in the byte order of the machine (`man 7 netlink`, `man 7
//! rtnetlink`).

use rustix::fd::OwnedFd;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::io;
use std::net::Ipv4Addr;

const NLMSG_ERROR: u16 = 2;
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const REQUEST: u16 = 0x5;
/// `NLM_F_EXCL | NLM_F_CREATE`.
const CREATE: u16 = 0x600;
const HEADER: usize = 16;

const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFF_UP: u32 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_METRICS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
const AF_INET: u8 = 2;

/// A connection to the routing of the namespace in which it was made.
pub struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    pub fn new() -> io::Result<Netlink> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Netlink { socket })
    }

    /// Brings a device up.
    pub fn bring_up(&self, index: u32, mtu: u32, queue_length: u32) -> io::Result<()> {
        let mut request = Request::new(RTM_NEWLINK, REQUEST);
        request.put(&[0; 4]).put(&index.to_ne_bytes()).put(&IFF_UP.to_ne_bytes()).put(&IFF_UP.to_ne_bytes());
        request.attribute(IFLA_MTU, &mtu.to_ne_bytes()).attribute(IFLA_TXQLEN, &queue_length.to_ne_bytes());
        self.ask(request)
    }

    /// Gives a device the address of a single host.
    pub fn add_address(&self, index: u32, address: Ipv4Addr) -> io::Result<()> {
        let mut request = Request::new(RTM_NEWADDR, REQUEST | CREATE);
        request.put(&[AF_INET, 32, 0, 0]).put(&index.to_ne_bytes());
        request.attribute(IFA_LOCAL, &address.octets()).attribute(IFA_ADDRESS, &address.octets());
        self.ask(request)
    }

    /// Sends what goes to a single host through a device, with connections that begin at `initial_cwnd` segments.
    pub fn add_route(&self, index: u32, to: Ipv4Addr, initial_cwnd: u32) -> io::Result<()> {
        let mut request = Request::new(RTM_NEWROUTE, REQUEST | CREATE);
        request.put(&[AF_INET, 32, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST]).put(&[0; 4]);
        request.attribute(RTA_DST, &to.octets()).attribute(RTA_OIF, &index.to_ne_bytes());
        let mut metrics = Request::default();
        metrics.attribute(RTAX_INITCWND, &initial_cwnd.to_ne_bytes());
        request.attribute(RTA_METRICS, &metrics.bytes);
        self.ask(request)
    }

    /// Sends a request and waits for the kernel's answer.
    fn ask(&self, request: Request) -> io::Result<()> {
        sendto(&self.socket, &request.finished(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = [0; 4096];
        let (_, length) = recv(&self.socket, answer.as_mut_slice(), RecvFlags::empty())?;
        let field = |at: usize| answer[..length].get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        let kind = field(4).map(|bytes: [u8; 4]| u16::from_ne_bytes([bytes[0], bytes[1]]));
        match (kind, field(HEADER).map(i32::from_ne_bytes)) {
            (Some(NLMSG_ERROR), Some(0)) => Ok(()),
            (Some(NLMSG_ERROR), Some(error)) => Err(io::Error::from_raw_os_error(-error)),
            _ => Err(io::Error::other("the kernel's answer is no acknowledgement")),
        }
    }
}

/// A message under construction.
#[derive(Default)]
struct Request {
    bytes: Vec<u8>,
}

impl Request {
    fn new(kind: u16, flags: u16) -> Request {
        let mut request = Request::default();
        // The length comes last; sequence number and port may be zero.
        request.put(&[0; 4]).put(&kind.to_ne_bytes()).put(&flags.to_ne_bytes()).put(&[0; 8]);
        request
    }

    fn put(&mut self, bytes: &[u8]) -> &mut Request {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Adds an attribute; everything is aligned to four bytes.
    fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Request {
        let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        self.put(&length.to_ne_bytes()).put(&kind.to_ne_bytes()).put(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    fn finished(mut self) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes
    }
}
