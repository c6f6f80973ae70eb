//! Whole runs on the kernel of this machine. They take real time, and are skipped, with a message, where the machine
//! forbids namespaces.

#![cfg(target_os = "linux")]

mod on_the_kernel;
