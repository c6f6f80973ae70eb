//! Files of `numpy.savez`: an archive of arrays, each of which is a header and its numbers
//! (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use std::io::{Cursor, Read};
use zip::ZipArchive;

/// The most bytes of an array.
const MOST_BYTES: u64 = 1 << 27;
const COMPRESSED: &str = "is compressed; write numpy.savez, not numpy.savez_compressed";
const MAGIC: &[u8] = b"\x93NUMPY";

/// The arrays of a file.
pub(crate) struct Arrays<'b>(ZipArchive<Cursor<&'b [u8]>>);

/// A shape, and the numbers row by row.
type Numbers = (Vec<usize>, Vec<f32>);

/// An array as it is stored.
struct Stored {
    /// Its type, for example `<f4`.
    kind: String,
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl<'b> Arrays<'b> {
    pub fn open(bytes: &'b [u8]) -> Result<Arrays<'b>, String> {
        let archive = ZipArchive::new(Cursor::new(bytes));
        archive.map(Arrays).map_err(|error| format!("it is no file of numpy.savez ({error})"))
    }

    /// An array of bytes; none where there is no such name.
    pub fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, String> {
        match self.stored(name)? {
            None => Ok(None),
            Some(Stored { kind, data, .. }) if kind == "|u1" => Ok(Some(data)),
            Some(Stored { kind, .. }) => {
                Err(format!("array `{name}` has the type {kind}, but must hold bytes (uint8)"))
            }
        }
    }

    /// The shape and the numbers of an array of single or double precision, row by row; none where there is no such
    /// name.
    pub fn numbers(&mut self, name: &str) -> Result<Option<Numbers>, String> {
        let Some(Stored { kind, shape, data }) = self.stored(name)? else { return Ok(None) };
        #[expect(clippy::cast_possible_truncation, reason = "networks have single precision")]
        let values = match kind.as_str() {
            "<f4" => data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
            "<f8" => data.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes) as f32).collect(),
            _ => return Err(format!("array `{name}` has the type {kind}, but must hold float32 or float64")),
        };
        Ok(Some((shape, values)))
    }

    fn stored(&mut self, name: &str) -> Result<Option<Stored>, String> {
        let wrong = |why: &str| format!("array `{name}` {why}");
        let mut file = match self.0.by_name(&format!("{name}.npy")) {
            Ok(file) => file,
            Err(zip::result::ZipError::FileNotFound) => return Ok(None),
            Err(zip::result::ZipError::CompressionMethodNotSupported(_)) => {
                return Err(wrong(COMPRESSED));
            }
            Err(error) => return Err(wrong(&format!("cannot be read: {error}"))),
        };
        if file.compression() != zip::CompressionMethod::Stored {
            return Err(wrong(COMPRESSED));
        }
        if file.size() > MOST_BYTES {
            return Err(wrong("is too large"));
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
        parse(&content).map(Some).ok_or_else(|| wrong("is no array in C order, the order that NumPy gives by itself"))
    }
}

/// Reads the header: a dictionary of Python such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(content: &[u8]) -> Option<Stored> {
    let rest = content.strip_prefix(MAGIC)?;
    let (version, rest) = rest.split_at_checked(2)?;
    let (length, rest) = if version[0] == 1 {
        let (length, rest) = rest.split_first_chunk::<2>()?;
        (usize::from(u16::from_le_bytes(*length)), rest)
    } else {
        let (length, rest) = rest.split_first_chunk::<4>()?;
        (u32::from_le_bytes(*length) as usize, rest)
    };
    let (header, data) = rest.split_at_checked(length)?;
    let header = std::str::from_utf8(header).ok()?;
    let after = |key: &str| header.split_once(&format!("'{key}':")).map(|(_, rest)| rest.trim_start());
    let kind = after("descr")?.strip_prefix('\'')?.split_once('\'')?.0.to_owned();
    let shape = after("shape")?.strip_prefix('(')?.split_once(')')?.0;
    let shape = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape = shape.map(|size| size.parse().ok()).collect::<Option<Vec<usize>>>()?;
    if shape.len() > 1 && !after("fortran_order")?.starts_with("False") {
        return None;
    }
    let size: usize = kind.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
    let count = shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size))?;
    (count.checked_mul(size)? == data.len()).then(|| Stored { kind, shape, data: data.to_vec() })
}
