//! A log of every packet: when it entered the network, and when it left it or was dropped.

use dumbbell_results::{Column, Names, Table, Values};
use dumbbell_units::{Duration, Time};

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A host sent it.
    Arrival,
    /// The other host got it.
    Departure,
    /// The network dropped it.
    Drop,
}

impl Event {
    fn name(self) -> &'static str {
        match self {
            Event::Arrival => "arrival",
            Event::Departure => "departure",
            Event::Drop => "drop",
        }
    }
}

/// The log, a row an event.
#[derive(Debug, Default)]
pub struct PacketLog {
    at: Vec<f64>,
    bytes: Vec<u32>,
    direction: Names,
    event: Names,
    delay_ms: Vec<f64>,
}

impl PacketLog {
    pub fn add(&mut self, at: Time, bytes: u16, is_forward: bool, event: Event, delay: Duration) {
        self.at.push(at.as_secs_f64());
        self.bytes.push(u32::from(bytes));
        self.direction.push(if is_forward { "up" } else { "down" });
        self.event.push(event.name());
        let is_departure = event == Event::Departure;
        self.delay_ms.push(if is_departure { delay.as_secs_f64() * 1e3 } else { f64::NAN });
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        (self.at.capacity() * size_of::<f64>() * 2 + self.bytes.capacity() * size_of::<u32>() * 3) as u64
    }

    /// As a table.
    pub fn table(self) -> Table {
        let column = |name: &str, unit, meaning, values| Column { name: name.to_owned(), unit, meaning, values };
        Table {
            columns: vec![
                column("t_s", "s", "When it happened.", Values::Float(self.at)),
                column("direction", "", "up: from the command to its peer; down: back.", Values::Name(self.direction)),
                column(
                    "event",
                    "",
                    "arrival at the network, departure to the other host, or drop.",
                    Values::Name(self.event),
                ),
                column("bytes", "bytes", "Length of the packet, IP header included.", Values::Index(self.bytes)),
                column("delay_ms", "ms", "Of a departure: the time since its arrival.", Values::Float(self.delay_ms)),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_a_row_an_event_and_delays_of_departures_alone() {
        let mut log = PacketLog::default();
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        log.add(at(1_000), 1_500, true, Event::Arrival, Duration::ZERO);
        log.add(at(1_250), 1_500, true, Event::Departure, Duration::from_millis(250));
        log.add(at(2_000), 40, false, Event::Drop, Duration::from_millis(5));
        assert!(log.memory() >= 3 * 28, "{}", log.memory());
        let [t, direction, event, bytes, delay] = &log.table().columns[..] else { panic!("five columns") };
        assert_eq!(
            [t, direction, event, bytes, delay].map(|column| (&*column.name, column.unit)),
            [("t_s", "s"), ("direction", ""), ("event", ""), ("bytes", "bytes"), ("delay_ms", "ms")]
        );
        let floats = |column: &Column| match &column.values {
            Values::Float(values) => values.clone(),
            _ => panic!("numbers"),
        };
        let names = |column: &Column| match &column.values {
            Values::Name(names) => (0..3).map(|row| names.get(row).unwrap().to_owned()).collect::<Vec<_>>(),
            _ => panic!("names"),
        };
        assert_eq!(floats(t), [1.0, 1.25, 2.0]);
        assert_eq!(
            (names(direction), names(event)),
            (
                ["up", "up", "down"].map(str::to_owned).to_vec(),
                ["arrival", "departure", "drop"].map(str::to_owned).to_vec()
            )
        );
        assert!(matches!(&bytes.values, Values::Index(bytes) if bytes[..] == [1_500, 1_500, 40]));
        let delays = floats(delay);
        assert!(delays[0].is_nan() && delays[1] == 250.0 && delays[2].is_nan());
    }
}
