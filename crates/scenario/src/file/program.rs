//! `program` of a flow: two command lines.

use schemars::JsonSchema;
use serde::Deserialize;

/// Two programs that speak to each other over the path of the flow. Each has a host of its own. A command line is split
/// into words as a shell does it, without a shell. In it `{server}` and `{client}` stand for the addresses of the two
/// hosts, `{port}` for a number of a port that differs from flow to flow, and `{{` and `}}` for braces.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProgramSpec {
    /// Command line of the server, which starts before the run and has to listen then. Required.
    pub server: Option<String>,
    /// Command line of the client, which begins at the `start` of the flow. Its end with status 0 completes the flow.
    /// Required.
    pub client: Option<String>,
    /// Who sends the data: "down" is the server, "up" the client. Default "down".
    pub direction: Option<Sends>,
}

/// Which of two programs sends the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sends {
    /// The server.
    #[default]
    Down,
    /// The client.
    Up,
}
