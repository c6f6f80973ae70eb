//! What a library says of itself.

use crate::contract::{self, FULL_CONTROL, Table, VERSION, WANTS_ECN, WANTS_PACING};
use dumbbell_cc::catalog::{DIGEST, ORIGINS};
use libloading::Library;
use libloading::os::unix::{self, RTLD_LOCAL, RTLD_NOW};
use std::error::Error;
use std::ffi::{CStr, c_char};
use std::path::Path;

/// The most parameters that a library may have.
const MOST_PARAMETERS: usize = 256;

/// A library that is open, and has been checked.
pub(crate) struct Opened {
    pub table: Table,
    pub name: String,
    pub summary: String,
    pub parameters: Vec<Parameter>,
    /// What the table points to is in it.
    _library: Library,
}

// SAFETY: the table and what it points to do not change, and the contract lets functions be called from any thread.
unsafe impl Send for Opened {}
// SAFETY: as above; states are not shared.
unsafe impl Sync for Opened {}

/// A constant that an experiment may set.
pub(crate) struct Parameter {
    pub name: String,
    pub meaning: String,
    pub normal: f64,
    pub least: f64,
    pub most: f64,
}

/// The text behind a pointer of a library.
///
/// # Safety
/// It is null or a text that ends with a zero, as the contract says.
unsafe fn text(pointer: *const c_char, what: &str) -> Result<String, String> {
    if pointer.is_null() {
        return Err(format!("{what} is NULL"));
    }
    // SAFETY: the caller vouches for it.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map(str::to_owned).map_err(|_| format!("{what} is no UTF-8 text"))
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// What the loader of the system says of `path`, without the path.
fn why_not(error: &libloading::Error, path: &Path) -> String {
    let said = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let path = format!("{}: ", path.display());
    said.strip_prefix(&path).unwrap_or(&said).to_owned()
}

impl Opened {
    /// Opens a file, which runs what the library does when it is loaded.
    pub fn open(path: &Path) -> Result<Opened, String> {
        // All that it calls is looked up now. Looked up at the first call, what is missing would end the program.
        // SAFETY: whoever names a library in an experiment trusts it; the documentation says what that means.
        let library = unsafe { unix::Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library: Library = library.map_err(|error| why_not(&error, path))?.into();
        let table = {
            // SAFETY: the header declares the function so.
            let function = unsafe { library.get::<unsafe extern "C" fn() -> *const Table>(b"dumbbell_cc\0") };
            let function = function.map_err(|_| "it does not define `dumbbell_cc`".to_owned())?;
            // SAFETY: as above.
            unsafe { function() }
        };
        if table.is_null() {
            return Err("`dumbbell_cc` returns NULL".to_owned());
        }
        // SAFETY: the first two numbers of the table have their places in every version.
        let [version, size] = unsafe { table.cast::<[u32; 2]>().read_unaligned() };
        if version != VERSION {
            return Err(format!(
                "it was compiled for version {version} of dumbbell_cc.h, and this is version {VERSION}; compile it again with \
                 the header that `dumbbell new-algorithm` writes"
            ));
        }
        if (size as usize) < size_of::<Table>() {
            return Err(format!(
                "its table of functions has {size} bytes instead of {}; set `.size = sizeof(dumbbell_algorithm)`",
                size_of::<Table>()
            ));
        }
        // SAFETY: it has that size at least, and the layout of this version.
        let table = unsafe { table.read_unaligned() };
        Opened::of(table, library)
    }

    /// What a table says that is in `library`.
    pub(crate) fn of(table: Table, library: Library) -> Result<Opened, String> {
        // SAFETY: the contract says so of these texts.
        let (name, summary) = unsafe { (text(table.name, "its name")?, text(table.summary, "its summary")?) };
        if !is_word(&name) {
            return Err(format!("its name {name:?} must be one word"));
        }
        // SAFETY: the contract says so of the parameters.
        let parameters = unsafe { parameters(&table)? };
        let opened = Opened { table, name, summary, parameters, _library: library };
        opened.check()?;
        Ok(opened)
    }

    /// What it says fits together.
    fn check(&self) -> Result<(), String> {
        let unknown = self.table.flags & !(FULL_CONTROL | WANTS_PACING | WANTS_ECN);
        if unknown != 0 {
            return Err(format!("its flags have bits that this version does not know: {unknown:#x}"));
        }
        let needed = match self.full_control() {
            true => ("cong_control", self.table.cong_control.is_some()),
            false => ("cong_avoid", self.table.cong_avoid.is_some()),
        };
        for (function, is_there) in [("ssthresh", self.table.ssthresh.is_some()), needed] {
            if !is_there {
                return Err(format!("it has no function `{function}`"));
            }
        }
        Ok(())
    }

    pub fn full_control(&self) -> bool {
        self.table.flags & FULL_CONTROL != 0
    }
}

/// The parameters that a table lists.
///
/// # Safety
/// The pointers are as the contract says.
unsafe fn parameters(table: &Table) -> Result<Vec<Parameter>, String> {
    let count = table.parameter_count as usize;
    if count > MOST_PARAMETERS || (count > 0 && table.parameters.is_null()) {
        return Err(format!("it says that it has {count} parameters, and has none or too many"));
    }
    let mut read: Vec<Parameter> = Vec::with_capacity(count);
    for number in 0..count {
        // SAFETY: the library says that there are so many.
        let contract::Parameter { name, meaning, normal, least, most } =
            unsafe { table.parameters.add(number).read_unaligned() };
        let what = format!("parameter {number}");
        // SAFETY: the contract says so of these texts.
        let (name, meaning) = unsafe { (text(name, &what)?, text(meaning, &what)?) };
        let is_taken = ["name", "base", DIGEST].contains(&name.as_str()) || ORIGINS.contains(&name.as_str());
        if !is_word(&name) || is_taken {
            return Err(format!("{what} cannot be called {name:?}"));
        }
        if read.iter().any(|other| other.name == name) {
            return Err(format!("it has two parameters `{name}`"));
        }
        if !(least <= normal && normal <= most && least.is_finite() && most.is_finite()) {
            return Err(format!("`{name}` is {normal} by itself, but must lie between {least} and {most}"));
        }
        read.push(Parameter { name, meaning, normal, least, most });
    }
    Ok(read)
}
