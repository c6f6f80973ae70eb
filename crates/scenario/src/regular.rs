//! Files of users: regular ones, whose end comes.

use std::fs::{File, OpenOptions};
use std::path::Path;

/// Opens a regular file without waiting for anybody: a pipe has no end until somebody writes into it, a device may have
/// none, and what the system shows as a file may wait, as `/proc/kmsg` does.
pub(crate) fn open(path: &Path) -> Result<File, String> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path).map_err(|error| error.to_string())?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    match (found.is_file(), found.is_dir()) {
        (true, _) => Ok(file),
        (_, true) => Err("it is a directory, not a regular file".to_owned()),
        _ => Err("it is a pipe or a device, not a regular file".to_owned()),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn nothing_that_is_read_makes_a_command_wait() {
        assert!(open(Path::new("/dev/zero")).is_err_and(|why| why.contains("a device")));
        assert!(open(Path::new("/dev")).is_err_and(|why| why.contains("a directory")));
        // Readable by root alone, and often empty: then reading it ends with an error.
        if let Ok(mut messages) = open(Path::new("/proc/kmsg")) {
            let mut some = [0; 1 << 16];
            while messages.read(&mut some).is_ok() {}
        }
        assert!(open(Path::new("/proc/self/status")).is_ok());
    }
}
