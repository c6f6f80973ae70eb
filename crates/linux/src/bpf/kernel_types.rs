//! The layout of structures of the running kernel, from its BTF (`/sys/kernel/btf/vmlinux`).
//!
//! aya-obj reads the same to relocate programs, but shows no members.

use std::collections::HashMap;

/// A structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Number of its type.
    pub id: u32,
    /// Size in bytes.
    pub bytes: usize,
    /// Name and offset in bytes of each member, in their order.
    pub members: Vec<(String, usize)>,
}

impl Structure {
    /// Number and offset of a member.
    pub fn member(&self, name: &str) -> Option<(u32, usize)> {
        let found = (0..).zip(&self.members).find(|(_, (member, _))| member == name);
        found.map(|(number, (_, offset))| (number, *offset))
    }
}

/// Finds structures by their names. `None` if the data is not BTF of this machine or lacks one of them.
pub fn structures<const N: usize>(btf: &[u8], names: [&str; N]) -> Option<[Structure; N]> {
    /// `BTF_MAGIC`.
    const MAGIC: u16 = 0xeb9f;
    if u16::from_ne_bytes(btf.get(..2)?.try_into().ok()?) != MAGIC {
        return None;
    }
    let header = word(btf, 4)?;
    let section = |at: usize| btf.get(header + word(btf, at)?..)?.get(..word(btf, at + 4)?);
    let (types, strings) = (section(8)?, section(16)?);
    let mut found = HashMap::new();
    let mut id = 1;
    let mut at = 0;
    while at < types.len() {
        let info = Info { name: word(types, at)?, bits: word(types, at + 4)?, size: word(types, at + 8)? };
        at += 12;
        if info.kind() == STRUCT {
            let name = string(strings, info.name)?;
            if let Some(wanted) = names.iter().find(|wanted| **wanted == name) {
                let members = (0..info.count()).map(|index| member(types, strings, at + 12 * index));
                let members = members.collect::<Option<_>>()?;
                found.entry(*wanted).or_insert(Structure { id, bytes: info.size, members });
            }
        }
        at += info.bytes_behind()?;
        id += 1;
    }
    let all: Option<Vec<Structure>> = names.iter().map(|name| found.remove(name)).collect();
    all?.try_into().ok()
}

const STRUCT: usize = 4;

/// What every type begins with.
struct Info {
    name: usize,
    bits: usize,
    size: usize,
}

impl Info {
    fn kind(&self) -> usize {
        self.bits >> 24 & 0x1f
    }

    fn count(&self) -> usize {
        self.bits & 0xffff
    }

    /// Bytes of a type after what every type begins with (`BTF_KIND_*`).
    fn bytes_behind(&self) -> Option<usize> {
        Some(match self.kind() {
            // Pointers, forward declarations, other names, qualifiers, functions, floats, tags of types.
            2 | 7..=12 | 16 | 18 => 0,
            // Integers, variables, tags of declarations.
            1 | 14 | 17 => 4,
            // Arrays.
            3 => 12,
            // Structures, unions, sections of data, enumerations of 64 bits.
            STRUCT | 5 | 15 | 19 => 12 * self.count(),
            // Enumerations, prototypes of functions.
            6 | 13 => 8 * self.count(),
            _ => return None,
        })
    }
}

fn member(types: &[u8], strings: &[u8], at: usize) -> Option<(String, usize)> {
    // With bit fields the size of the field lies above the offset in bits.
    let offset_bits = word(types, at + 8)? & 0x00ff_ffff;
    Some((string(strings, word(types, at)?)?.to_owned(), offset_bits / 8))
}

fn word(data: &[u8], at: usize) -> Option<usize> {
    let bytes = data.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_ne_bytes(bytes)).ok()
}

fn string(strings: &[u8], at: usize) -> Option<&str> {
    let rest = strings.get(at..)?;
    str::from_utf8(rest.split(|byte| *byte == 0).next()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four(number: usize) -> [u8; 4] {
        u32::try_from(number).unwrap().to_ne_bytes()
    }

    /// A header, and the types `int` and `struct pair { int first; int second; }`.
    fn pair() -> Vec<u8> {
        let strings = b"\0int\0pair\0first\0second\0";
        let types = [1, 1 << 24, 4, 32, 5, STRUCT << 24 | 2, 8, 10, 1, 0, 16, 1, 32].map(four).concat();
        let header = [24, 0, types.len(), types.len(), strings.len()].map(four).concat();
        [&0xeb9f_u16.to_ne_bytes()[..], &[1, 0], &header, &types, strings].concat()
    }

    #[test]
    fn a_structure_is_found_with_its_members() {
        let [found] = structures(&pair(), ["pair"]).unwrap();
        assert_eq!((found.id, found.bytes), (2, 8));
        assert_eq!(found.member("second"), Some((1, 4)));
        assert_eq!(found.member("third"), None);
    }

    #[test]
    fn what_is_damaged_or_lacks_a_structure_is_nothing() {
        assert_eq!(structures(&pair(), ["triple"]), None);
        let whole = pair();
        for length in 0..whole.len() - "first\0second\0".len() {
            assert_eq!(structures(&whole[..length], ["pair"]), None, "cut at {length}");
        }
        assert_eq!(structures(&[0; 64], ["pair"]), None);
    }
}
