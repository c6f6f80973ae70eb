#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dumbbell_fuzz::must_hold("twin", bytes));
