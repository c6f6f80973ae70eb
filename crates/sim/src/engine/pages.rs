//! Web pages while they load: a document, then its objects over several connections at the same time.

use dumbbell_results::PageLoad;
use dumbbell_traffic::Pages;
use dumbbell_units::{Duration, Time, claimed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The users of a source, and what they load.
#[derive(Default)]
pub(super) struct PageLoads {
    /// Connections to come: when, in which order they were asked for, whose they are, and what they transfer first.
    due: BinaryHeap<Reverse<(Time, u64, u32, u64)>>,
    asked: u64,
    users: Vec<Page>,
    begun: u64,
    /// Pages that have loaded.
    loaded: Vec<PageLoad>,
}

/// The page that a user loads, or has loaded.
#[derive(Clone, Copy, Default)]
struct Page {
    number: u64,
    begin: Time,
    /// Objects that its document names, once that has arrived.
    objects: Option<u32>,
    /// Those of them that nobody has asked for.
    unasked: u32,
    /// Connections that transfer something, or will when they begin.
    under_way: u32,
    /// Payload that was asked for.
    bytes: u64,
}

impl Page {
    /// Asks for the next object; returns its size.
    fn ask(&mut self, pages: &mut Pages, user: u32) -> u64 {
        let bytes = pages.object(user as usize).unwrap_or(1);
        self.unasked -= 1;
        self.under_way += 1;
        self.bytes += bytes;
        bytes
    }

    fn row(&self, took: Option<Duration>) -> PageLoad {
        let Page { number, begin, objects, bytes, .. } = *self;
        PageLoad { number, start: begin, objects: objects.unwrap_or(0), bytes, took, ..PageLoad::default() }
    }
}

impl PageLoads {
    /// The users of a source come, the first pages of whom begin before `stop`.
    pub fn new(pages: &mut Pages, begin: Time, stop: Time) -> PageLoads {
        let mut loads = PageLoads { users: vec![Page::default(); pages.users()], ..PageLoads::default() };
        for user in (0u32..).take(pages.users()) {
            loads.expect_page(pages, user, begin, stop);
        }
        loads
    }

    /// When the next connection begins, whose it is, and what it transfers first.
    pub fn next(&self) -> Option<(Time, u32, u64)> {
        self.due.peek().map(|&Reverse((at, _, user, bytes))| (at, user, bytes))
    }

    /// That connection begins.
    pub fn begin_next(&mut self) {
        let Some(Reverse((at, _, user, bytes))) = self.due.pop() else { return };
        let page = &mut self.users[user as usize];
        if page.under_way == 0 {
            *page = Page { number: self.begun, begin: at, under_way: 1, bytes, ..Page::default() };
            self.begun += 1;
        }
    }

    /// Something that a user asked for has arrived at `now`. Returns when the connection asks for what next, if it
    /// does.
    pub fn arrived(&mut self, pages: &mut Pages, user: u32, now: Time, stop: Time) -> Option<(Time, u64)> {
        let page = &mut self.users[user as usize];
        page.under_way -= 1;
        if page.objects.is_some() {
            if page.unasked > 0 {
                return Some((now, page.ask(pages, user)));
            }
        } else {
            let (objects, parse) = pages.objects(user as usize)?;
            (page.objects, page.unasked) = (Some(objects), objects);
            let asks = now + parse;
            let own = (objects > 0).then(|| (asks, page.ask(pages, user)));
            for _ in 1..pages.connections().min(objects) {
                let bytes = page.ask(pages, user);
                self.due.push(Reverse((asks, self.asked, user, bytes)));
                self.asked += 1;
            }
            if own.is_some() {
                return own;
            }
        }
        if page.under_way == 0 {
            self.loaded.push(page.row(Some(now.since(page.begin))));
            self.expect_page(pages, user, now, stop);
        }
        None
    }

    /// A user thinks from `now` on and then loads a page, if that begins before `stop`.
    fn expect_page(&mut self, pages: &mut Pages, user: u32, now: Time, stop: Time) {
        let Some((after, bytes)) = pages.page(user as usize) else { return };
        if now + after < stop {
            self.due.push(Reverse((now + after, self.asked, user, bytes)));
            self.asked += 1;
        }
    }

    /// The pages that have loaded, and those that the end of the run cut short.
    pub fn finish(self) -> Vec<PageLoad> {
        let cut = self.users.iter().filter(|page| page.under_way > 0).map(|page| page.row(None));
        let mut rows = self.loaded;
        rows.extend(cut);
        rows
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        claimed::<Reverse<(Time, u64, u32, u64)>>(self.due.len(), self.due.capacity())
            + claimed::<PageLoad>(self.loaded.len(), self.loaded.capacity())
            + claimed::<Page>(self.users.len(), self.users.capacity())
    }
}
