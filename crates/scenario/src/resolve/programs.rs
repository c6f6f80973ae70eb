//! Flows that are two programs.

use super::Context;
use crate::file::{FlowSpec, Sends};
use crate::key_path::KeyPath;
use crate::program::{CommandLine, Program};
use std::sync::Arc;

impl Context<'_> {
    /// The programs of a flow; `None` when that found problems.
    #[expect(clippy::option_option, reason = "outside: whether it is valid; inside: whether there are any")]
    pub(super) fn program(&mut self, spec: &FlowSpec, at: &KeyPath) -> Option<Option<Arc<Program>>> {
        let Some(program) = &spec.program else { return Some(None) };
        let alone = self.stands_alone(spec, at);
        let at = at.key("program");
        let server = self.command_line("server", program.server.as_deref(), &at);
        let client = self.command_line("client", program.client.as_deref(), &at);
        let (server, client) = (server?, client?);
        let is_download = program.direction.unwrap_or_default() == Sends::Down;
        alone.then(|| Some(Arc::new(Program { server, client, is_download })))
    }

    /// Whether nothing stands beside `program` that a program does not look at.
    fn stands_alone(&mut self, spec: &FlowSpec, at: &KeyPath) -> bool {
        let given = [
            ("cc", spec.cc.is_some()),
            ("transport", spec.transport.is_some()),
            ("bytes", spec.bytes.is_some()),
            ("rate", spec.rate.is_some()),
            ("app", spec.app.is_some()),
            ("read_rate", spec.read_rate.is_some()),
            ("streams", spec.streams.is_some()),
        ];
        let mut alone = true;
        for (key, _) in given.iter().filter(|(_, is_given)| *is_given) {
            let message = format!("`{key}` changes nothing beside `program`");
            let help = format!("remove `{key}`, and say it to the program itself if it can be told");
            self.report.key(&at.key(key), message, help);
            alone = false;
        }
        alone
    }

    fn command_line(&mut self, key: &str, text: Option<&str>, at: &KeyPath) -> Option<CommandLine> {
        let Some(text) = text else {
            let help = format!("add `{key}`, a command line such as \"iperf3 --server --port {{port}}\"");
            let help = if key == "client" { help.replace("--server", "--client {server}") } else { help };
            self.report.value(at, format!("the programs have no `{key}`"), help);
            return None;
        };
        let read = CommandLine::read(text);
        let problem = |(message, help)| self.report.value(&at.key(key), format!("`{key}`: {message}"), help);
        read.map_err(problem).ok()
    }
}
