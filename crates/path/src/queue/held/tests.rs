use super::*;
use crate::catalog::QueueLimit;
use crate::queue::codel::Codel;
use crate::queue::{Discipline, Queue};
use crate::testing::TestPacket;
use dumbbell_units::Rng;

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
