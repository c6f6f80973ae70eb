//! The commands of `bpf(2)` that register a congestion-control algorithm: aya, which reads objects and ring buffers,
//! has none for struct_ops.

use aya_obj::generated::{bpf_attach_type, bpf_cmd, bpf_insn, bpf_map_type, bpf_prog_type};
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ffi::CStr;
use std::io;

/// The map's entry takes part in a link, whose end unregisters it.
const BPF_F_LINK: u32 = 1 << 13;
/// Names of programs and maps, with the zero at their end.
const NAME_BYTES: usize = 16;

/// A call; what the structure lacks of the kernel's `union bpf_attr` is zero.
fn bpf<T>(command: bpf_cmd, mut attributes: T) -> io::Result<libc::c_long> {
    // SAFETY: the attributes have the size that is said and are ours alone: the kernel writes the true length of a log
    // into them. What they point to is borrowed by the caller for as long, has the length that stands beside it, and is
    // only read, but for the log, which is borrowed mutably.
    let status = unsafe { libc::syscall(libc::SYS_bpf, command as libc::c_int, &raw mut attributes, size_of::<T>()) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

/// [`bpf()`] for a command that opens something; returns what was opened.
fn open<T>(command: bpf_cmd, attributes: T) -> io::Result<OwnedFd> {
    let fd = i32::try_from(bpf(command, attributes)?).map_err(io::Error::other)?;
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn address<T>(data: &[T]) -> u64 {
    data.as_ptr() as u64
}

fn length<T>(data: &[T]) -> u32 {
    u32::try_from(data.len()).unwrap_or(u32::MAX)
}

fn number(fd: impl AsFd) -> u32 {
    fd.as_fd().as_raw_fd().cast_unsigned()
}

fn name_of(name: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    // The last one stays zero; the kernel takes letters, digits, `_` and `.`.
    for (to, from) in bytes[..NAME_BYTES - 1].iter_mut().zip(name.bytes()) {
        *to = if from.is_ascii_alphanumeric() { from } else { b'_' };
    }
    bytes
}

/// Hands types over to the kernel.
pub fn load_types(btf: &[u8]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        btf: u64,
        log: u64,
        btf_bytes: u32,
        log_bytes: u32,
        log_level: u32,
        log_true_bytes: u32,
    }
    let attributes =
        Attributes { btf: address(btf), log: 0, btf_bytes: length(btf), log_bytes: 0, log_level: 0, log_true_bytes: 0 };
    open(bpf_cmd::BPF_BTF_LOAD, attributes)
}

/// Has the kernel check a program that fills member `member` of the structure with type `structure`. `log` is for what
/// the kernel has to say of it; without room there it says nothing.
pub fn load_program(
    name: &str,
    instructions: &[bpf_insn],
    license: &CStr,
    (structure, member): (u32, u32),
    log: &mut [u8],
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        instruction_count: u32,
        instructions: u64,
        license: u64,
        log_level: u32,
        log_bytes: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; NAME_BYTES],
        interface: u32,
        expected_attach_type: u32,
        btf: u32,
        func_info_size: u32,
        func_info: u64,
        func_info_count: u32,
        line_info_size: u32,
        line_info: u64,
        line_info_count: u32,
        attach_btf_id: u32,
    }
    open(
        bpf_cmd::BPF_PROG_LOAD,
        Attributes {
            kind: bpf_prog_type::BPF_PROG_TYPE_STRUCT_OPS as u32,
            instruction_count: length(instructions),
            instructions: address(instructions),
            license: address(license.to_bytes_with_nul()),
            log_level: u32::from(!log.is_empty()),
            log_bytes: length(log),
            log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
            kernel_version: 0,
            flags: 0,
            name: name_of(name),
            interface: 0,
            expected_attach_type: member,
            btf: 0,
            func_info_size: 0,
            func_info: 0,
            func_info_count: 0,
            line_info_size: 0,
            line_info: 0,
            line_info_count: 0,
            attach_btf_id: structure,
        },
    )
}

/// Makes the map that holds a structure of the kernel's type `value_type` for it. `types` are any of our own, which the
/// kernel wants to see and does not use.
pub fn create_structure(name: &str, types: impl AsFd, value_type: u32, value: &[u8]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        key_bytes: u32,
        value_bytes: u32,
        entries: u32,
        flags: u32,
        inner: u32,
        node: u32,
        name: [u8; NAME_BYTES],
        interface: u32,
        btf: u32,
        key_type: u32,
        own_value_type: u32,
        value_type: u32,
    }
    let map = open(
        bpf_cmd::BPF_MAP_CREATE,
        Attributes {
            kind: bpf_map_type::BPF_MAP_TYPE_STRUCT_OPS as u32,
            key_bytes: 4,
            value_bytes: length(value),
            entries: 1,
            flags: BPF_F_LINK,
            inner: 0,
            node: 0,
            name: name_of(name),
            interface: 0,
            btf: number(types),
            key_type: 0,
            own_value_type: 0,
            value_type,
        },
    )?;
    set_structure(&map, value)?;
    Ok(map)
}

fn set_structure(map: &OwnedFd, value: &[u8]) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        map: u32,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let key = [0u32];
    let attributes = Attributes { map: number(map), padding: 0, key: address(&key), value: address(value), flags: 0 };
    bpf(bpf_cmd::BPF_MAP_UPDATE_ELEM, attributes)?;
    Ok(())
}

/// Registers the structure of a map, for as long as what is returned is open.
pub fn register_structure(map: impl AsFd) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        map: u32,
        target: u32,
        attach_type: u32,
        flags: u32,
    }
    let attach_type = bpf_attach_type::BPF_STRUCT_OPS as u32;
    open(bpf_cmd::BPF_LINK_CREATE, Attributes { map: number(map), target: 0, attach_type, flags: 0 })
}
