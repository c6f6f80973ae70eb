//! Why a catalogue refuses something.

use dumbbell_cc_contract::parameters::ParameterError;

/// Why a controller could not be built.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BuildError {
    /// No algorithm has this name.
    #[error("unknown algorithm `{name}`; {help}")]
    UnknownAlgorithm {
        /// What was asked for.
        name: String,
        /// What there is, the nearest first.
        help: String,
    },
    /// A parameter does not exist or has an impossible value.
    #[error("{message}")]
    Parameter {
        /// The parameter, empty when the whole table is meant.
        key: String,
        /// What is wrong with it and what would be right.
        message: String,
    },
    /// The algorithm could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Why a catalogue refuses an algorithm.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// A name is empty or has characters that a file cannot hold as a word.
    #[error("`{name}` is no name for an algorithm: it must be one word of printable ASCII characters")]
    Name {
        /// The name.
        name: String,
    },
    /// Another one has this name.
    #[error("the name `{name}` is taken by {by}")]
    Taken {
        /// The name, short or exact.
        name: String,
        /// Exact name of the one that has it.
        by: String,
    },
    /// The variants cannot be read.
    #[error("{0}")]
    Presets(#[from] toml::de::Error),
    /// The base of a variant is unknown, or has no such parameters.
    #[error("variant `{name}`: {error}")]
    Variant {
        /// Name of the variant.
        name: String,
        /// What is wrong.
        error: BuildError,
    },
}

impl From<ParameterError> for BuildError {
    fn from(ParameterError { key, message }: ParameterError) -> BuildError {
        BuildError::Parameter { key, message }
    }
}

/// Why an algorithm could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LoadError {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}
