//! Arrow's C interfaces for the columns of a table: [data](https://arrow.apache.org/docs/format/CDataInterface.html) and
//! [streams](https://arrow.apache.org/docs/format/CStreamInterface.html).
//!
//! Only the producer's side of five types is needed. The crates of arrow-rs have all sides of all types, and with what they
//! stand on they took a fifth of the time that the extension module takes to compile.
//!
//! Everything unsafe is in here and follows one rule: a structure that was exported owns its memory through `private_data`, a
//! box that its `release` takes back, and the buffers of its columns through an [`Arc`]. A consumer may move a structure,
//! also a child out of its parent, and then clears `release` where it was.
#![expect(unsafe_code, reason = "structures that are shared with C")]

use crate::column::{Column, Columns, Field, Values};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

/// What Arrow sets in [`ArrowSchema::flags`] for a column that may hold nulls.
const NULLABLE: i64 = 2;

/// `struct ArrowSchema` of the C data interface.
#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

// SAFETY: whoever holds it owns what it points to, and no thread is special.
unsafe impl Send for ArrowSchema {}

/// What a schema points to.
struct SchemaMemory {
    format: CString,
    name: CString,
    metadata: Vec<u8>,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

impl ArrowSchema {
    /// The schema of a table: a structure whose members are its columns.
    pub fn of(columns: &Columns) -> ArrowSchema {
        let children = columns.iter().map(ArrowSchema::of_column).map(Box::new).map(Box::into_raw).collect();
        ArrowSchema::new("+s", "", Vec::new(), 0, children, ptr::null_mut())
    }

    fn of_column(column: &Column) -> ArrowSchema {
        let Field { name, unit, meaning } = &*column.field;
        let flags = if column.validity.nulls > 0 { NULLABLE } else { 0 };
        let dictionary = match column.values {
            Values::Name { .. } => {
                let names = ArrowSchema::new("u", "", Vec::new(), NULLABLE, Vec::new(), ptr::null_mut());
                Box::into_raw(Box::new(names))
            }
            _ => ptr::null_mut(),
        };
        let metadata = metadata(&[("unit", unit), ("description", meaning)]);
        ArrowSchema::new(format(&column.values), name, metadata, flags, Vec::new(), dictionary)
    }

    fn new(
        format: &str,
        name: &str,
        metadata: Vec<u8>,
        flags: i64,
        children: Vec<*mut ArrowSchema>,
        dictionary: *mut ArrowSchema,
    ) -> ArrowSchema {
        // No column has a zero byte in its name.
        let [format, name] = [format, name].map(|text| CString::new(text).unwrap_or_default());
        let mut memory = Box::new(SchemaMemory { format, name, metadata, children, dictionary });
        ArrowSchema {
            format: memory.format.as_ptr(),
            name: memory.name.as_ptr(),
            metadata: if memory.metadata.is_empty() { ptr::null() } else { memory.metadata.as_ptr().cast() },
            flags,
            n_children: count(memory.children.len()),
            children: memory.children.as_mut_ptr(),
            dictionary,
            release: Some(release_schema),
            private_data: Box::into_raw(memory).cast(),
        }
    }
}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: `release` is still there, so nobody has moved or released it.
            unsafe { release(self) }
        }
    }
}

/// SAFETY: `schema` is one of ours that has not been released.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: `private_data` is the box that `ArrowSchema::new` has made; the children are boxes, too, and those that were
    // moved away have no `release`.
    unsafe {
        let memory = Box::from_raw((*schema).private_data.cast::<SchemaMemory>());
        (*schema).release = None;
        for &child in memory.children.iter().chain(Some(&memory.dictionary).filter(|dictionary| !dictionary.is_null()))
        {
            drop(Box::from_raw(child));
        }
    }
}

/// Pairs of texts as the interface encodes them; those without a value are left out.
fn metadata(pairs: &[(&str, &str)]) -> Vec<u8> {
    let pairs: Vec<_> = pairs.iter().filter(|(_, value)| !value.is_empty()).collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let length = |length: usize| i32::try_from(length).unwrap_or(i32::MAX).to_ne_bytes();
    let mut bytes = length(pairs.len()).to_vec();
    for text in pairs.into_iter().flat_map(|&(key, value)| [key, value]) {
        bytes.extend(length(text.len()));
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// `struct ArrowArray` of the C data interface.
#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// What an array points to.
struct ArrayMemory {
    _columns: Arc<Columns>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
}

impl ArrowArray {
    /// All rows of a table.
    fn of(columns: &Arc<Columns>) -> ArrowArray {
        let children = columns.iter().map(|column| Box::into_raw(Box::new(ArrowArray::of_column(columns, column))));
        ArrowArray::new(columns, columns.rows(), 0, vec![ptr::null()], children.collect(), ptr::null_mut())
    }

    fn of_column(columns: &Arc<Columns>, column: &Column) -> ArrowArray {
        let dictionary = match &column.values {
            Values::Name { names, .. } => {
                let buffers = vec![ptr::null(), names.offsets.as_ptr().cast(), names.bytes.as_ptr().cast()];
                let array = ArrowArray::new(columns, names.len(), 0, buffers, Vec::new(), ptr::null_mut());
                Box::into_raw(Box::new(array))
            }
            _ => ptr::null_mut(),
        };
        let bits = &column.validity.bits;
        let validity = if column.validity.nulls == 0 { ptr::null() } else { bits.as_ptr().cast() };
        let buffers = [vec![validity], buffers(&column.values)].concat();
        ArrowArray::new(columns, columns.rows(), column.validity.nulls, buffers, Vec::new(), dictionary)
    }

    fn new(
        columns: &Arc<Columns>,
        length: usize,
        nulls: usize,
        buffers: Vec<*const c_void>,
        children: Vec<*mut ArrowArray>,
        dictionary: *mut ArrowArray,
    ) -> ArrowArray {
        let mut memory = Box::new(ArrayMemory { _columns: columns.clone(), buffers, children, dictionary });
        ArrowArray {
            length: count(length),
            null_count: count(nulls),
            offset: 0,
            n_buffers: count(memory.buffers.len()),
            n_children: count(memory.children.len()),
            buffers: memory.buffers.as_mut_ptr(),
            children: memory.children.as_mut_ptr(),
            dictionary,
            release: Some(release_array),
            private_data: Box::into_raw(memory).cast(),
        }
    }

    /// What a stream gives at its end.
    fn released() -> ArrowArray {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: `release` is still there, so nobody has moved or released it.
            unsafe { release(self) }
        }
    }
}

/// SAFETY: `array` is one of ours that has not been released.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as in `release_schema`.
    unsafe {
        let memory = Box::from_raw((*array).private_data.cast::<ArrayMemory>());
        (*array).release = None;
        for &child in memory.children.iter().chain(Some(&memory.dictionary).filter(|dictionary| !dictionary.is_null()))
        {
            drop(Box::from_raw(child));
        }
    }
}

/// Arrow's name of the type of a column.
fn format(values: &Values) -> &'static str {
    match values {
        Values::Float(_) => "g",
        Values::Count(_) => "L",
        Values::Index(_) | Values::Name { .. } => "I",
        Values::Text(_) => "u",
    }
}

/// The buffers of a column behind that of its validity.
fn buffers(values: &Values) -> Vec<*const c_void> {
    match values {
        Values::Float(values) => vec![values.as_ptr().cast()],
        Values::Count(values) => vec![values.as_ptr().cast()],
        Values::Index(values) => vec![values.as_ptr().cast()],
        Values::Text(text) => vec![text.offsets.as_ptr().cast(), text.bytes.as_ptr().cast()],
        Values::Name { keys, .. } => vec![keys.as_ptr().cast()],
    }
}

/// `struct ArrowArrayStream` of the C stream interface: the rows of a table as one array.
#[repr(C)]
pub struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: whoever holds it owns what it points to, and no thread is special.
unsafe impl Send for ArrowArrayStream {}

/// What a stream points to.
struct StreamMemory {
    columns: Arc<Columns>,
    is_at_end: bool,
}

impl ArrowArrayStream {
    pub fn of(columns: Arc<Columns>) -> ArrowArrayStream {
        ArrowArrayStream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release_stream),
            private_data: Box::into_raw(Box::new(StreamMemory { columns, is_at_end: false })).cast(),
        }
    }
}

impl Drop for ArrowArrayStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: `release` is still there, so nobody has moved or released it.
            unsafe { release(self) }
        }
    }
}

/// SAFETY: `stream` is one of ours that has not been released, and there is room behind `out`, which holds nothing.
unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: `private_data` is the box that `ArrowArrayStream::of` has made.
    unsafe {
        let memory = &*(*stream).private_data.cast::<StreamMemory>();
        out.write(ArrowSchema::of(&memory.columns));
    }
    0
}

/// SAFETY: as for `get_schema`.
unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as in `get_schema`; nobody calls two functions of a stream at once.
    unsafe {
        let memory = &mut *(*stream).private_data.cast::<StreamMemory>();
        let is_at_end = std::mem::replace(&mut memory.is_at_end, true);
        out.write(if is_at_end { ArrowArray::released() } else { ArrowArray::of(&memory.columns) });
    }
    0
}

/// There are no errors.
unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

/// SAFETY: `stream` is one of ours that has not been released.
unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: `private_data` is the box that `ArrowArrayStream::of` has made.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<StreamMemory>()));
        (*stream).release = None;
    }
}

/// A number of things in memory, of which there are fewer than the type holds.
fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
