#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hookwright_properties::chunks(input));
