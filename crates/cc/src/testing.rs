//! What a transport keeps for its controller, for unit tests.

use crate::{Control, View};

/// A connection without a transport.
pub(crate) struct Side {
    pub(crate) view: View,
    pub(crate) control: Control,
}

impl Side {
    /// With this window, which was full.
    pub(crate) fn limited(cwnd: u32, ssthresh: u32) -> Side {
        Side {
            view: View { cwnd_limited: true, ..View::new(1448) },
            control: Control { cwnd, ssthresh, ..Control::default() },
        }
    }
}
