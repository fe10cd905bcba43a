//! Small mutations of inputs, as a fuzzer makes them but without its feedback. The same seed gives the same mutations.

/// Tokens that parsers are likely to get wrong.
const TOKENS: &[&str] = &[
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ":",
    ",",
    "\n",
    "\r\n",
    "\r",
    " ",
    "\t",
    "\0",
    "\u{feff}",
    "\u{1e}",
    "null",
    "true",
    "-1",
    "18446744073709551615",
    "1e999",
    "\\u0000",
    "\\ud800",
    "é",
    "𝄞",
    "//",
    "/*",
    "*/",
    "#",
    "data: ",
    "\n\n",
    "[DONE]",
    "$(",
    "${",
    "`",
    "!{",
    "@{",
    "{{args}}",
    "$'",
    "<<E",
    "\nE\n",
    ";",
    "&&",
    "||",
    "|",
    ">",
    "<",
    "&",
    "*",
    "~",
    "[[rule]]\n",
    "decision = \"deny\"\n",
    "'''",
    "\"\"\"",
    "${extensionPath}",
    "$GEMINI_PROJECT_DIR",
    "if ",
    "fi",
    "esac",
    "\x1b[31m",
];

const MAX_INPUT_BYTES: usize = 4096;

/// A generator of inputs that are mutations of seeds.
pub(super) struct Mutator<'s> {
    state: u64,
    seeds: &'s [Vec<u8>],
}

impl<'s> Mutator<'s> {
    pub(super) fn new(seed: u64, seeds: &'s [Vec<u8>]) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, seeds }
    }

    /// Returns a pseudo-random number below `bound`.
    fn random_below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % bound.max(1) as u64) as usize
    }

    fn pick_seed(&mut self) -> &'s [u8] {
        let at = self.random_below(self.seeds.len());
        &self.seeds[at]
    }

    /// Returns a random range of an input, of at most 64 bytes.
    fn random_range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.random_below(length + 1);
        let most = (length - start).min(64);
        start..start + self.random_below(most + 1)
    }

    /// Returns the next input: a seed with one to four mutations.
    pub(super) fn next_input(&mut self) -> Vec<u8> {
        let mut bytes = self.pick_seed().to_vec();
        for _ in 0..=self.random_below(4) {
            self.mutate(&mut bytes);
        }
        bytes.truncate(MAX_INPUT_BYTES);
        bytes
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        let range = self.random_range(bytes.len());
        match self.random_below(6) {
            0 => drop(bytes.drain(range)),
            1 => {
                let copy = bytes[range].to_vec();
                let at = self.random_below(bytes.len() + 1);
                bytes.splice(at..at, copy);
            }
            2 => {
                let token = TOKENS[self.random_below(TOKENS.len())];
                bytes.splice(range.start..range.start, token.bytes());
            }
            3 => {
                let token = TOKENS[self.random_below(TOKENS.len())];
                bytes.splice(range, token.bytes());
            }
            4 => {
                let other = self.pick_seed();
                let part = self.random_range(other.len());
                bytes.splice(range, other[part].iter().copied());
            }
            _ => {
                let bit = 1 << self.random_below(8);
                if let Some(byte) = bytes.get_mut(range.start) {
                    *byte ^= bit;
                }
            }
        }
    }
}
