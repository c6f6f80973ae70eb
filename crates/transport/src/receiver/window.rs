//! The receive window as it was told (`rcv_wup + rcv_wnd`): it never shrinks.

use super::reassembly::Reassembly;
use super::right_sizing::{RightSizing, Window};
use crate::{AdvertisedWindow, Segment, TransportConfig};
use std::num::NonZeroU32;

/// The smallest window that is told beside unread data, as a part of the buffer (`__tcp_select_window`).
const SMALLEST_PART: u32 = 16;

/// Where the window ends that was told last, and a constant one's size.
#[derive(Clone, Debug)]
pub(super) struct ToldWindow {
    /// First segment beyond the advertised window; never moves back. The window has `excess` bytes of that segment.
    edge: u32,
    excess: u16,
    /// Constant window, or `None` when it is sized by [`RightSizing`].
    constant: Option<NonZeroU32>,
    held_data_takes_room: bool,
}

impl ToldWindow {
    /// The window of the handshake, of at most `largest` segments.
    pub fn new(config: &TransportConfig, largest: u32, sizing: &RightSizing) -> ToldWindow {
        let constant = NonZeroU32::new(largest).filter(|_| !config.receive_autotuning);
        ToldWindow {
            edge: constant.map_or_else(|| sizing.first_window().segments, NonZeroU32::get),
            excess: 0,
            constant,
            held_data_takes_room: config.held_data_takes_window,
        }
    }

    /// The size of a constant window.
    #[inline]
    pub fn constant(&self) -> Option<u32> {
        self.constant.map(NonZeroU32::get)
    }

    /// First segment beyond it.
    #[inline(always)]
    pub fn edge(&self) -> u32 {
        self.edge
    }

    /// Whole segments of it from `seq` on.
    #[inline(always)]
    pub fn segments_from(&self, seq: u32) -> u32 {
        self.edge - seq
    }

    /// What is left of it above `seq` (`tcp_receive_window`).
    #[inline]
    pub fn left_from(&self, seq: u32) -> Window {
        Window { segments: self.edge - seq, excess: self.excess }
    }

    /// Whether a segment lies within it. One beyond the whole segments fits it if it is short, or if segments below it
    /// are that are `held`.
    #[inline]
    pub fn fits(&self, segment: &Segment, held: &Reassembly, sizing: &RightSizing) -> bool {
        segment.seq < self.edge || self.fits_excess(segment, held, sizing)
    }

    #[cold]
    fn fits_excess(&self, segment: &Segment, held: &Reassembly, sizing: &RightSizing) -> bool {
        let lacking = sizing.lacking(held.segments(), held.bytes());
        let (edge, excess) = sizing.moved((self.edge, self.excess), lacking);
        segment.seq < edge || (segment.seq == edge && segment.len <= excess)
    }

    /// Segments are delivered that lack so many bytes of whole ones: the window ends where it did.
    pub fn keep_edge(&mut self, bytes: u64, sizing: &RightSizing) {
        if self.constant.is_none() {
            (self.edge, self.excess) = sizing.moved((self.edge, self.excess), bytes);
        }
    }

    /// The window to tell on the arrival of a segment in order.
    #[inline(always)]
    pub fn open(&self, sizing: &mut RightSizing) -> Window {
        match self.constant {
            Some(window) => Window { segments: window.get(), excess: 0 },
            None => sizing.open(),
        }
    }

    /// A constant window beside `unread` segments, which a reader has before it, and `held` ones: closed rather than
    /// small.
    #[inline(always)]
    pub fn constant_beside(&self, unread: u32, held: u32) -> Option<Window> {
        let window = self.constant()?;
        let taken = if self.held_data_takes_room { held } else { 0 };
        let free = window.saturating_sub(taken).saturating_sub(unread);
        let is_silly = unread > 0 && free < (window / SMALLEST_PART).max(1);
        Some(Window { segments: if is_silly { 0 } else { free }, excess: 0 })
    }

    /// Segments that there is room for, whatever was told before.
    pub fn offered(&self, unread: u32, held: u32, sizing: &mut RightSizing) -> u32 {
        let window = self.constant_beside(unread, held);
        window.or_else(|| sizing.window_from(Window::default(), unread + held)).map_or(0, |window| window.segments)
    }

    /// Whether a `window` above `ack` does not end below the one that was told last.
    #[inline(always)]
    pub fn is_reached_by(&self, ack: u32, window: Window) -> bool {
        let edge = ack.saturating_add(window.segments);
        edge > self.edge || (edge == self.edge && window.excess >= self.excess)
    }

    /// Tells a `window` above `ack`, which [reaches](Self::is_reached_by) the one before.
    #[inline(always)]
    pub fn set(&mut self, ack: u32, window: Window) {
        self.edge = ack.saturating_add(window.segments);
        self.excess = window.excess;
    }

    /// Tells `window` above `ack`, or what is left of the last one if that is more; the ACK before was one of
    /// everything below `last_acked` (`tcp_select_window`).
    #[inline(always)]
    pub fn tell(
        &mut self,
        window: Option<Window>,
        ack: u32,
        last_acked: u32,
        sizing: &RightSizing,
    ) -> AdvertisedWindow {
        if let Some(window) = window
            && self.is_reached_by(ack, window)
        {
            self.set(ack, window);
        } else if ack != last_acked {
            self.keep(ack, sizing);
        }
        if self.excess == 0 { AdvertisedWindow::whole(self.edge - ack) } else { self.exact(ack) }
    }

    /// The window must not shrink: what is left of the one that was told stays, in the units in which it is told,
    /// rounded up (`tcp_select_window`). Where repairs move its left edge by less than a unit at a time, its right edge
    /// moves as well, whatever room there is.
    #[cold]
    #[inline(never)]
    fn keep(&mut self, ack: u32, sizing: &RightSizing) {
        self.set(ack, sizing.told(self.left_from(ack)));
    }

    /// The window to tell where it ends within a segment. A constant one has whole segments.
    #[inline(never)]
    fn exact(&self, ack: u32) -> AdvertisedWindow {
        let excess = if self.constant.is_none() { self.excess } else { 0 };
        AdvertisedWindow::new(self.edge - ack, excess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RightSizingRule;

    fn windows(config: &TransportConfig, largest: u32) -> (ToldWindow, RightSizing) {
        let sizing = RightSizing::new(1448, largest, 7, RightSizingRule::Linux);
        (ToldWindow::new(config, largest, &sizing), sizing)
    }

    fn whole(segments: u32) -> Window {
        Window { segments, excess: 0 }
    }

    #[test]
    fn a_window_that_was_told_does_not_shrink() {
        let (mut window, sizing) =
            windows(&TransportConfig { receive_autotuning: true, ..TransportConfig::default() }, 1_000);
        assert_eq!(window.tell(Some(whole(45)), 4, 2, &sizing).segments(), 45);
        assert_eq!((window.edge(), window.segments_from(10)), (49, 39));
        assert_eq!(window.tell(Some(whole(30)), 9, 4, &sizing).segments(), 40, "what is left, not 30");
        assert_eq!(window.tell(None, 9, 9, &sizing).segments(), 40);
        assert!(window.is_reached_by(9, whole(41)) && !window.is_reached_by(8, whole(41)), "and 64 bytes: whole units");
    }

    #[test]
    fn a_constant_window_is_closed_rather_than_silly() {
        let config = TransportConfig { receive_autotuning: false, held_data_takes_window: true, ..Default::default() };
        let (window, mut sizing) = windows(&config, 64);
        let beside = |unread, held| window.constant_beside(unread, held).map(|window| window.segments);
        assert_eq!([beside(0, 0), beside(60, 0), beside(61, 0), beside(0, 61)], [Some(64), Some(4), Some(0), Some(3)]);
        assert_eq!((window.open(&mut sizing), window.offered(40, 0, &mut sizing)), (whole(64), 24));
    }
}
