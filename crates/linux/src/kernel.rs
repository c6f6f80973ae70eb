//! Which kernel is running.

/// `uname -r`.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Its major and minor number.
pub fn version() -> Option<(u32, u32)> {
    let release = release();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
