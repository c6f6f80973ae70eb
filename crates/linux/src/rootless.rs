//! Root's rights for an ordinary user, within namespaces of their own.

use crate::{RunError, sys};
use rustix::process::{getgid, getuid};
use std::fs;

/// Makes the calling process root of a user namespace of its own, in which it may make network namespaces; files that
/// it writes still belong to its user. The process must have one thread only: call it before anything else.
///
/// # Errors
/// The machine forbids user namespaces, or there is another thread.
pub fn become_root_of_own_namespace() -> Result<(), RunError> {
    let (user, group) = (getuid(), getgid());
    sys::unshare_user().map_err(|error| RunError::Namespace(error.to_string()))?;
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {} 1", user.as_raw())),
        ("/proc/self/gid_map", format!("0 {} 1", group.as_raw())),
    ];
    for (file, text) in maps {
        fs::write(file, text).map_err(|error| RunError::Namespace(format!("{file}: {error}")))?;
    }
    Ok(())
}
