//! What a host does under a script, for those who write one.

use crate::host::{Emitted, START, Simulated};
use crate::judge::{End, Host, Run};
use crate::live::recorded;
use crate::script::{Direction, Event, Moment, Script, What, When, seconds};
use crate::suite::Subject;
use dumbbell_units::{Duration, Time};
use std::fmt::Write;

/// Fields of `struct tcp_info` that are shown where a script looks at it.
const SHOWN: [&str; 12] = [
    "ca_state",
    "snd_cwnd",
    "snd_ssthresh",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "reordering",
    "rtt",
    "rto",
    "delivered",
    "delivered_ce",
];
/// How long the end of a script is watched.
const AFTERMATH: Duration = Duration::from_secs(1);

/// The packets and calls of a script beside what the host sends; nothing is judged.
pub fn trace(script: &Script, subject: Subject) -> Result<String, String> {
    match subject {
        Subject::Endpoints => Ok(trace_on(script, Simulated::new(script)?)),
        Subject::Kernel => Ok(trace_on(script, recorded(script)?)),
    }
}

fn trace_on(script: &Script, host: impl Host) -> String {
    let mut text = String::new();
    let mut run = Run::new(script, host);
    let mut last = START;
    for (index, event) in script.events.iter().enumerate() {
        let time = |moment: Moment| if moment.is_relative { last + moment.span } else { START + moment.span };
        let at = match event.when {
            When::At(at) | When::Between(at, _) => time(at),
            When::Any => run.host.now(),
        };
        run.host.begin_event(index);
        if let What::Packet(packet) = &event.what
            && packet.direction == Direction::Outbound
        {
            let latest = if let When::Between(_, latest) = event.when { time(latest) } else { at };
            if let Some(sent) = run.host.next_packet(latest + script.tolerance().unwrap_or(Duration::from_millis(4))) {
                if let Some(Some((val, _))) = packet.options.as_ref().map(|options| options.timestamp) {
                    run.host.name_stamp(val, sent.stamp);
                }
                print_sent(&mut text, &sent);
                last = last.max(sent.at);
            }
            continue;
        }
        print_all(&mut text, &mut run.host, at);
        run.host.run_until(at);
        last = at;
        let line = event.place.line;
        if let Err(reason) = take_step(&mut text, &mut run, event, at) {
            _ = writeln!(text, "line {line}: {reason}");
        }
    }
    print_all(&mut text, &mut run.host, last + AFTERMATH);
    text
}

/// Does what a script says, and prints what is not a call that every script begins with.
fn take_step<H: Host>(text: &mut String, run: &mut Run<H>, event: &Event, at: Time) -> Result<(), String> {
    match &event.what {
        What::Shell(command) => run.host.shell(command),
        What::Packet(packet) => {
            _ = writeln!(text, "{:>12} {packet}", seconds(START, at));
            run.host.receive(packet)
        }
        What::Call(call) => {
            if call.bytes_offered().is_some() || ["close", "shutdown"].contains(&&*call.name) {
                let bytes = call.bytes_offered().map_or(String::new(), |bytes| format!(" of {bytes}"));
                _ = writeln!(text, "{:>12} {}{bytes}", seconds(START, at), call.name);
            }
            match run.call(event, call) {
                Ok(()) => Ok(()),
                Err(End::Foreign(_, reason)) => Err(reason),
                Err(End::Different(difference)) => Err(format!("got {}", difference.got)),
            }
        }
        What::Code(_) => {
            let shown =
                SHOWN.iter().filter_map(|name| Some(format!("{name} {}", run.host.info(&format!("tcpi_{name}"))?)));
            _ = writeln!(text, "{:>12}   {}", seconds(START, at), shown.collect::<Vec<_>>().join(", "));
            Ok(())
        }
        What::Foreign(what) => Err(what.clone()),
    }
}

fn print_all(text: &mut String, host: &mut impl Host, until: Time) {
    while let Some(sent) = host.next_packet(until) {
        print_sent(text, &sent);
    }
}

fn print_sent(text: &mut String, sent: &Emitted) {
    _ = writeln!(text, "{:>12} {}", seconds(START, sent.at), sent.packet);
}
