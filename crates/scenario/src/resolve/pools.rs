//! `[[pools]]`: memory of switches, which queues share.

use super::network::Draft;
use super::{Context, top};
use crate::error::suggest;
use crate::file::Buffer;
use crate::{Link, Pool, PoolShare};
use dumbbell_units::Bytes;
use std::collections::HashSet;

/// α unless the file says otherwise.
const ALPHA: f64 = 1.0;
const MAX_ALPHA: f64 = 1_024.0;
/// The largest memory.
const MAX_SIZE: Bytes = Bytes::new(1 << 50);

impl Context<'_> {
    /// The pools of the file; `None` when that found problems.
    pub(super) fn pools(&mut self) -> Option<Vec<Pool>> {
        let before = self.report.problems.len();
        let mut names = HashSet::new();
        let mut pools = Vec::new();
        for (number, spec) in self.file.pools.iter().flatten().enumerate() {
            let at = top("pools").index(number);
            let Some(name) = spec.name.clone().filter(|name| !name.is_empty()) else {
                self.report.value(&at, "this pool has no `name`", "add `name`, which `buffer` of links refers to");
                continue;
            };
            if !names.insert(name.clone()) {
                let message = format!("there are two pools `{name}`");
                self.report.value(&at.key("name"), message, "choose another name");
            }
            match spec.size {
                None => self.report.value(&at, "this pool has no `size`", "add `size`, for example size = \"4MB\""),
                Some(size) if size == Bytes::ZERO || size > MAX_SIZE => {
                    let help = format!("allowed: 1 byte to {MAX_SIZE}");
                    self.report.value(&at.key("size"), format!("a pool of {size}"), help);
                }
                Some(size) => pools.push(Pool { name, bytes: size.as_u64() }),
            }
        }
        (self.report.problems.len() == before).then_some(pools)
    }

    /// The part of a link's queue in the pool that its buffer names, if it names one. What is wrong is reported.
    pub(super) fn pool_share(&mut self, draft: &Draft, is_unlimited: bool, pools: &[Pool]) -> Option<PoolShare> {
        let Some(Buffer::Limits { pool: Some((name, alpha)), .. }) = &draft.side.buffer else { return None };
        let at = draft.at.key("buffer");
        if draft.side.wifi.is_some() || is_unlimited {
            let message = match is_unlimited {
                true => "nothing waits in front of a link of unlimited rate",
                false => "the queue of a Wi-Fi link shares no memory",
            };
            self.report.value(&at.key("pool"), message, "remove `pool`");
            return None;
        }
        let alpha = alpha.unwrap_or(ALPHA);
        if !(alpha > 0.0 && alpha <= MAX_ALPHA) {
            let help = format!("allowed: more than 0, at most {MAX_ALPHA}");
            self.report.value(&at.key("alpha"), format!("an alpha of {alpha}"), help);
            return None;
        }
        let found = pools.iter().position(|pool| pool.name == *name);
        if found.is_none() {
            let help = suggest(name, "pools of this file", pools.iter().map(|pool| pool.name.as_str()));
            self.report.value(&at.key("pool"), format!("there is no pool `{name}`"), help);
        }
        found.map(|pool| PoolShare { pool, alpha })
    }

    /// Refuses pools that no queue uses.
    pub(super) fn check_pools(&mut self, pools: &[Pool], links: &[Link]) {
        for (number, pool) in pools.iter().enumerate() {
            if !links.iter().any(|link| link.pool.is_some_and(|share| share.pool == number)) {
                let message = format!("the pool `{}` changes nothing: no queue shares it", pool.name);
                let help = format!("write buffer = {{ pool = \"{}\" }} for a link", pool.name);
                self.report.value(&top("pools").index(number), message, help);
            }
        }
    }
}
