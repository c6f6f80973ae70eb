use super::*;
use crate::catalog::QueueLimit;
use crate::queue::codel::Codel;
use crate::queue::{Discipline, Queue};
use crate::testing::TestPacket;
use dumbbell_units::Rng;
use proptest::prelude::*;

#[test]
fn what_waits_claims_memory_for_its_packet_and_its_descriptor_and_gives_the_latter_back() {
    let Queue::Held(discipline) = Codel::default().queue(Rng::new(1)) else { panic!("CoDel keeps its packets") };
    let mut queue = HeldQueue::new(testing::limited(QueueLimit::default()), discipline);
    let mut ledger = Ledger::default();
    let nothing = queue.memory();
    for number in 0..64 {
        queue.offer(Time::ZERO, TestPacket::new(number, 1500), &mut ledger).unwrap();
    }
    let full = queue.memory();
    let (packet, descriptor) = (size_of::<TestPacket>() as u64, size_of::<Waiting>() as u64);
    assert!(full - nothing >= 64 * (packet + descriptor), "{nothing} and {full}");
    assert!(full - nothing <= 64 * (2 * packet + descriptor) + 1_024, "{nothing} and {full}");
    while queue.next_decision() < Time::NEVER {
        queue.decide(&mut ledger);
    }
    assert_eq!(queue.packets().count(), 0);
    // The places of the packets stay, and each is noted as free.
    assert!(queue.memory() <= full - 64 * descriptor + 64 * 2 * 4, "{full} and {}", queue.memory());
}

/// What is done to a line.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many packets of a run come.
    Push(u32),
    /// The oldest packet goes.
    Pop,
    /// The packet behind so many others goes.
    Remove(usize),
    /// What the transmitter can begin by then goes.
    PopRun(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..6u32).prop_map(Step::Push),
        Just(Step::Pop),
        (0..8usize).prop_map(Step::Remove),
        (0..60_000u64).prop_map(Step::PopRun),
    ]
}

proptest! {
    #[test]
    fn a_line_of_runs_gives_out_what_a_line_of_packets_would(steps in prop::collection::vec(step(), 1..60)) {
        let (mut line, mut buffer) = (Line::default(), testing::buffer());
        let mut model = Vec::new();
        let name = |packet: &Waiting| (packet.place, packet.offset);
        for (place, step) in (0..).zip(steps) {
            match step {
                Step::Push(count) => {
                    let run = Waiting::new(&TestPacket::new(0, 1500), place);
                    // All but the last come together.
                    if count > 1 {
                        line.push(run.arrive(Time::ZERO, 0, count - 1), &mut buffer);
                    }
                    line.push(run.arrive(Time::ZERO, count - 1, 1), &mut buffer);
                    model.extend((0..count).map(|offset| (place, offset)));
                }
                Step::Pop => {
                    let expected = (!model.is_empty()).then(|| model.remove(0));
                    prop_assert_eq!(line.pop(Time::ZERO, &mut buffer).as_ref().map(name), expected);
                }
                Step::Remove(number) => {
                    let expected = (number < model.len()).then(|| model.remove(number));
                    prop_assert_eq!(line.remove(number, Time::ZERO, &mut buffer).as_ref().map(name), expected);
                }
                Step::PopRun(nanos) => {
                    let free = buffer.transmitter.seek(Time::ZERO);
                    let passing = line.pop_run(Time::from_nanos(nanos), &mut buffer);
                    let Some(&(run, first)) = model.first() else { prop_assert!(passing.is_none()); continue };
                    // A full packet takes twelve microseconds at a gigabit a second.
                    let begun = nanos.checked_sub(free.as_nanos()).map_or(0, |nanos| 1 + nanos / 12_000);
                    let of_run = (first..).zip(&model).take_while(|&(offset, &packet)| packet == (run, offset)).count();
                    let expected = of_run.min(usize::try_from(begun).unwrap());
                    prop_assert_eq!(passing.as_ref().map_or(0, |passing| passing.count() as usize), expected);
                    if let Some(Passing { first: packet, starts }) = passing {
                        prop_assert_eq!((name(&packet), starts.next()), ((run, first), free));
                    }
                    model.drain(..expected);
                }
            }
            prop_assert_eq!(line.front().map(name), model.first().copied());
            let backlog = Backlog { packets: model.len() as u64, bytes: 1_500 * model.len() as u64 };
            prop_assert_eq!((line.backlog(), buffer.backlog()), (backlog, backlog));
        }
    }
}
