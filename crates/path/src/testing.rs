//! A packet for tests.

use crate::packet::{Ecn, Packet};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestPacket {
    pub(crate) number: u64,
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
}

impl TestPacket {
    pub(crate) fn new(number: u64, size: u32) -> TestPacket {
        TestPacket { number, size, ecn: Ecn::NotEct }
    }
}

impl Packet for TestPacket {
    fn size(&self) -> u32 {
        self.size
    }

    fn flow(&self) -> u32 {
        0
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }

    fn follow(&mut self, count: u32) {
        self.number += u64::from(count);
    }
}
