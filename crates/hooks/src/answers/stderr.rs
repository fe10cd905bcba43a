//! The part of stderr that is shown when a hook failed. After exit code 2 stderr is the reason, and is used whole.

/// The last lines of stderr, without the stack frames that node prints after the message.
pub(super) fn last_lines(stderr: &str) -> Option<String> {
    const MAX_STDERR_LINES: usize = 5;
    const MAX_STDERR_CHARS: usize = 600;
    let is_said = |line: &&str| !line.trim().is_empty() && !is_stack_frame(line);
    let mut lines: Vec<&str> = stderr.trim().lines().rev().filter(is_said).take(MAX_STDERR_LINES).collect();
    if lines.is_empty() {
        lines = stderr.trim().lines().rev().take(MAX_STDERR_LINES).collect();
    }
    let text = lines.into_iter().rev().collect::<Vec<_>>().join("\n");
    let skip = text.chars().count().saturating_sub(MAX_STDERR_CHARS);
    let tail: String = text.chars().skip(skip).collect();
    (!tail.is_empty()).then_some(if skip > 0 { format!("…{tail}") } else { tail })
}

/// Whether a line is a stack frame of node, which ends in a source location, or the version line below the frames.
fn is_stack_frame(line: &str) -> bool {
    let place = line.trim().strip_prefix("at ").map(|frame| frame.trim_end_matches(')'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_frame = place.is_some_and(|place| {
        place.ends_with("<anonymous>") || place.rsplit_once(':').is_some_and(|(_, column)| is_number(column))
    });
    (is_frame && line.starts_with([' ', '\t'])) || line.starts_with("Node.js v")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_kept_and_stack_frames_are_dropped() {
        let node = "file:///p/hook.mjs:3\n  throw new Error(\"the real reason\");\n        ^\n\nError: the real reason\n    \
                    at file:///p/hook.mjs:3:9\n    at ModuleJob.run (node:internal/modules/esm/module_job:325:25)\n    \
                    at async ModuleLoader.import (node:internal/x:1:2)\n    at async y (node:internal/z:9:1)\n\nNode.js v20.1.0\n";
        assert!(last_lines(node).unwrap().ends_with("Error: the real reason"), "{:?}", last_lines(node));
        let python = "Traceback (most recent call last):\n  File \"/p/hook.py\", line 1, in <module>\n    boom()\nKeyError: 'x'\n";
        assert!(last_lines(python).unwrap().ends_with("KeyError: 'x'"));
        assert_eq!(last_lines("1\n2\n3\n4\n5\n6\n").unwrap(), "2\n3\n4\n5\n6");
        assert_eq!(
            last_lines("no\n  at least one file: a\n    at x (node:a:1:2)\n").unwrap(),
            "no\n  at least one file: a"
        );
        assert_eq!(last_lines("  at x (a:1:2)\n").unwrap(), "at x (a:1:2)", "where nothing else was said");
        assert_eq!(last_lines(" \n"), None);
    }
}
