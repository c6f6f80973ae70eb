//! Packets on their way through the emulator, and the slots that hold their bytes.

use dumbbell_path::{Class, Ecn};
use dumbbell_units::Time;

/// A packet on its way. What is in it lies in a slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    pub entered: Time,
    pub slot: u32,
    pub flow: u32,
    pub size: u16,
    pub hops_left: u16,
    pub ecn: Ecn,
    pub class: Class,
    pub is_forward: bool,
}

impl dumbbell_path::Packet for Packet {
    fn size(&self) -> u32 {
        u32::from(self.size)
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn class(&self) -> Class {
        self.class
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    /// Packets come one by one.
    fn follow(&mut self, _count: u32) {}
}

/// Bytes of packets under way.
pub struct Slots {
    length: usize,
    bytes: Vec<u8>,
    free: Vec<u32>,
}

impl Slots {
    /// Slots for packets of up to `length` bytes.
    pub fn new(length: usize) -> Slots {
        Slots { length, bytes: Vec::new(), free: Vec::new() }
    }

    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let slot = self.bytes.len() / self.length;
            self.bytes.resize(self.bytes.len() + self.length, 0);
            u32::try_from(slot).unwrap_or(u32::MAX)
        })
    }

    pub fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// A new slot with the bytes of `slot`.
    pub fn copy(&mut self, slot: u32) -> u32 {
        let copy = self.take();
        let (from, to) = (slot as usize * self.length, copy as usize * self.length);
        self.bytes.copy_within(from..from + self.length, to);
        copy
    }

    pub fn get(&mut self, slot: u32) -> &mut [u8] {
        let start = slot as usize * self.length;
        &mut self.bytes[start..start + self.length]
    }

    pub fn memory(&self) -> u64 {
        (self.bytes.capacity() + self.free.capacity() * size_of::<u32>()) as u64
    }
}
