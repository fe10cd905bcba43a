//! YAML text → nodes with their places, through `saphyr-parser`; nothing else here knows that crate.
//!
//! Anchors and aliases are refused, which is what bombs are made of, and so is all but YAML's own tags.

use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};

use super::{Field, Kind, Node};

/// No front matter that people write is nested deeper.
const DEEPEST: usize = 32;

/// What is wrong, and where in the file.
pub(super) struct Wrong {
    pub(super) range: Range<usize>,
    pub(super) message: String,
}

/// The one document in this part of a file.
pub(super) fn parse(text: &str, part: Range<usize>) -> Result<Node, Wrong> {
    let yaml = &text[part.clone()];
    let offsets: Vec<usize> = yaml.char_indices().map(|(at, _)| at).chain([yaml.len()]).collect();
    let mut builder = Builder { start: part.start, offsets, open: Vec::new(), done: None };
    let mut parser = Parser::new_from_str(yaml);
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => builder.take(event, span)?,
            Err(error) => return Err(builder.scan_error(&error)),
        }
    }
    Ok(builder.done.unwrap_or(Node { kind: Kind::Plain(String::new()), range: part.start..part.start }))
}

/// A list or fields that have begun and not ended.
enum Open {
    List { start: usize, nodes: Vec<Node> },
    Map { start: usize, fields: Vec<Field>, key: Option<(String, Range<usize>)> },
}

struct Builder {
    /// Where the part begins in the file.
    start: usize,
    /// The byte of each character of the part: places are told in characters.
    offsets: Vec<usize>,
    open: Vec<Open>,
    done: Option<Node>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Wrong> {
        let range = self.range(span);
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.done.is_some() => Err(wrong(range, "a second document starts here")),
            Event::DocumentStart(_) => Ok(()),
            Event::Alias(_) => Err(wrong(range, "aliases are not read here")),
            Event::Scalar(text, style, anchor, tag) => {
                plain_only(anchor, tag.as_deref(), &range)?;
                let text = text.into_owned();
                let kind = if style == ScalarStyle::Plain { Kind::Plain(text) } else { Kind::Text(text) };
                self.add(Node { kind, range })
            }
            Event::SequenceStart(anchor, tag) => {
                plain_only(anchor, tag.as_deref(), &range)?;
                self.begin(Open::List { start: range.start, nodes: Vec::new() }, range)
            }
            Event::MappingStart(anchor, tag) => {
                plain_only(anchor, tag.as_deref(), &range)?;
                self.begin(Open::Map { start: range.start, fields: Vec::new(), key: None }, range)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(range),
        }
    }

    fn begin(&mut self, open: Open, range: Range<usize>) -> Result<(), Wrong> {
        if self.open.len() >= DEEPEST {
            return Err(wrong(range, "nested too deep"));
        }
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self, range: Range<usize>) -> Result<(), Wrong> {
        let node = match self.open.pop() {
            Some(Open::List { start, nodes }) => Node { kind: Kind::List(nodes), range: start..range.end },
            Some(Open::Map { start, fields, .. }) => Node { kind: Kind::Map(fields), range: start..range.end },
            None => return Err(wrong(range, "this ends nothing")),
        };
        self.add(node)
    }

    fn add(&mut self, node: Node) -> Result<(), Wrong> {
        match self.open.last_mut() {
            None => self.done = Some(node),
            Some(Open::List { nodes, .. }) => nodes.push(node),
            Some(Open::Map { fields, key, .. }) => match key.take() {
                Some((key, key_range)) => fields.push(Field { key, key_range, value: node }),
                None => match node.kind {
                    Kind::Plain(text) | Kind::Text(text) => *key = Some((text, node.range)),
                    Kind::List(_) | Kind::Map(_) => {
                        return Err(wrong(node.range, "the name of a field should be text"));
                    }
                },
            },
        }
        Ok(())
    }

    fn scan_error(&self, error: &ScanError) -> Wrong {
        let at = self.offset(*error.marker());
        wrong(at..at, error.info())
    }

    fn range(&self, span: Span) -> Range<usize> {
        let start = self.offset(span.start);
        start..self.offset(span.end).max(start)
    }

    fn offset(&self, marker: Marker) -> usize {
        self.start + self.offsets.get(marker.index()).or(self.offsets.last()).copied().unwrap_or(0)
    }
}

fn plain_only(anchor: usize, tag: Option<&Tag>, range: &Range<usize>) -> Result<(), Wrong> {
    match tag {
        _ if anchor != 0 => Err(wrong(range.clone(), "anchors are not read here")),
        Some(tag) if !tag.is_yaml_core_schema() => Err(wrong(range.clone(), "tags are not read here")),
        _ => Ok(()),
    }
}

fn wrong(range: Range<usize>, message: &str) -> Wrong {
    Wrong { range, message: message.to_owned() }
}
