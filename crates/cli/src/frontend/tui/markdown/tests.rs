use super::super::block::render_all;
use super::*;

fn drawn(text: &str, columns: usize) -> String {
    let mut stream = MarkdownStream::default();
    // The text arrives in small pieces, as models send it.
    let chars: Vec<char> = text.chars().collect();
    let mut blocks: Vec<ScrollbackBlock> =
        chars.chunks(3).flat_map(|piece| stream.push(&piece.iter().collect::<String>())).collect();
    blocks.extend(stream.finish());
    let lines = render_all(blocks, columns, &mut true).into_iter().flat_map(|(_, lines)| lines);
    lines.map(|line| line.plain().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

const ANSWER: &str = "# Title\nSome *text* with `code` and a [link](https://example.org).\n\n- one\n- two\n  - deep\n\n\
1. first\n2. second\n\n```rust\nfn main() {\n\n    let x = 1; // one\n}\n```\n\n| a | long heading |\n|---|---|\n\
| 1 | some words here |\n| 日本 | x |\n\n> quoted\n\nend";

#[test]
fn headings_lists_code_tables_and_quotes() {
    insta::assert_snapshot!(drawn(ANSWER, 60), @r"
    Title
    Some text with code and a link (https://example.org).

    • one
    • two
      • deep

    1. first
    2. second

      fn main() {

          let x = 1; // one
      }

    a    │ long heading
    ─────┼────────────────
    1    │ some words here
    日本 │ x

    │ quoted

    end
    ");
}

#[test]
fn forty_columns_and_less() {
    insta::assert_snapshot!(drawn(ANSWER, 20), @r"
    Title
    Some text with code
    and a link (https://
    example.org).

    • one
    • two
      • deep

    1. first
    2. second

      fn main() {

          let x = 1; //
      one
      }

    a    │ long heading
    ─────┼──────────────
    1    │ some words
         │ here
    日本 │ x

    │ quoted

    end
    ");
}

#[test]
fn a_long_answer_is_final_piece_by_piece() {
    let mut stream = MarkdownStream::default();
    let mut pieces = 0;
    for number in 0..10_000 {
        pieces += stream.push(&format!("- item {number}\n")).len();
        assert!(stream.pending.len() < 4000);
    }
    assert!(pieces > 200);
    stream.push("\n```\n");
    for _ in 0..100 {
        assert_eq!(stream.push("code\n").len(), 1);
    }
    assert!(matches!(stream.push("co").as_slice(), []));
    assert!(matches!(stream.live_block(), Some(ScrollbackBlock::Code { .. })));
}

#[test]
fn columns_are_aligned_as_the_table_asks() {
    let table = "| name | count | middle |\n|:---|---:|:---:|\n| a | 7 | x |\n| bcd | 12345 | long one |\n";
    insta::assert_snapshot!(drawn(table, 60), @r"
    name │ count │  middle
    ─────┼───────┼─────────
    a    │     7 │    x
    bcd  │ 12345 │ long one
    ");
}
