//! Parses YAML into nodes with positions. Only this module uses `saphyr-parser`.
//!
//! Anchors and aliases are rejected, because they allow exponential expansion, and so are tags that are not YAML's
//! own.

use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};

use super::{FrontMatterField, YamlNode, YamlNodeKind};

/// Deepest nesting of lists and maps.
const MAX_NESTING_DEPTH: usize = 32;

/// What is wrong, and where in the file.
pub(super) struct YamlError {
    pub(super) range: Range<usize>,
    pub(super) message: String,
}

/// Parses the single YAML document in this part of a file.
pub(super) fn parse(text: &str, part: Range<usize>) -> Result<YamlNode, YamlError> {
    let yaml = &text[part.clone()];
    let offsets: Vec<usize> = yaml.char_indices().map(|(at, _)| at).chain([yaml.len()]).collect();
    let mut builder = YamlTreeBuilder { start: part.start, offsets, open: Vec::new(), root: None };
    let mut parser = Parser::new_from_str(yaml);
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => builder.push_event(event, span)?,
            Err(error) => return Err(builder.scan_error(&error)),
        }
    }
    Ok(builder.root.unwrap_or(YamlNode { kind: YamlNodeKind::Plain(String::new()), range: part.start..part.start }))
}

/// A list or map that has started and not ended.
enum OpenCollection {
    List { start: usize, nodes: Vec<YamlNode> },
    Map { start: usize, fields: Vec<FrontMatterField>, key: Option<(String, Range<usize>)> },
}

struct YamlTreeBuilder {
    /// Offset of the part in the file.
    start: usize,
    /// Byte offset of each character of the part, because the parser counts in characters.
    offsets: Vec<usize>,
    open: Vec<OpenCollection>,
    root: Option<YamlNode>,
}

impl YamlTreeBuilder {
    fn push_event(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        let range = self.range(span);
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.root.is_some() => Err(yaml_error(range, "a second document starts here")),
            Event::DocumentStart(_) => Ok(()),
            Event::Alias(_) => Err(yaml_error(range, "aliases are not supported")),
            Event::Scalar(text, style, anchor, tag) => {
                reject_anchor_and_tag(anchor, tag.as_deref(), &range)?;
                let text = text.into_owned();
                let kind =
                    if style == ScalarStyle::Plain { YamlNodeKind::Plain(text) } else { YamlNodeKind::Text(text) };
                self.add_node(YamlNode { kind, range })
            }
            Event::SequenceStart(anchor, tag) => {
                reject_anchor_and_tag(anchor, tag.as_deref(), &range)?;
                self.open_collection(OpenCollection::List { start: range.start, nodes: Vec::new() }, range)
            }
            Event::MappingStart(anchor, tag) => {
                reject_anchor_and_tag(anchor, tag.as_deref(), &range)?;
                self.open_collection(OpenCollection::Map { start: range.start, fields: Vec::new(), key: None }, range)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close_collection(range),
        }
    }

    fn open_collection(&mut self, open: OpenCollection, range: Range<usize>) -> Result<(), YamlError> {
        if self.open.len() >= MAX_NESTING_DEPTH {
            return Err(yaml_error(range, "nested too deep"));
        }
        self.open.push(open);
        Ok(())
    }

    fn close_collection(&mut self, range: Range<usize>) -> Result<(), YamlError> {
        let node = match self.open.pop() {
            Some(OpenCollection::List { start, nodes }) => {
                YamlNode { kind: YamlNodeKind::List(nodes), range: start..range.end }
            }
            Some(OpenCollection::Map { start, fields, .. }) => {
                YamlNode { kind: YamlNodeKind::Map(fields), range: start..range.end }
            }
            None => return Err(yaml_error(range, "this ends nothing")),
        };
        self.add_node(node)
    }

    fn add_node(&mut self, node: YamlNode) -> Result<(), YamlError> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(OpenCollection::List { nodes, .. }) => nodes.push(node),
            Some(OpenCollection::Map { fields, key, .. }) => match key.take() {
                Some((key, key_range)) => fields.push(FrontMatterField { key, key_range, value: node }),
                None => match node.kind {
                    YamlNodeKind::Plain(text) | YamlNodeKind::Text(text) => *key = Some((text, node.range)),
                    YamlNodeKind::List(_) | YamlNodeKind::Map(_) => {
                        return Err(yaml_error(node.range, "the name of a field should be text"));
                    }
                },
            },
        }
        Ok(())
    }

    fn scan_error(&self, error: &ScanError) -> YamlError {
        let at = self.offset(*error.marker());
        yaml_error(at..at, error.info())
    }

    fn range(&self, span: Span) -> Range<usize> {
        let start = self.offset(span.start);
        start..self.offset(span.end).max(start)
    }

    fn offset(&self, marker: Marker) -> usize {
        self.start + self.offsets.get(marker.index()).or(self.offsets.last()).copied().unwrap_or(0)
    }
}

fn reject_anchor_and_tag(anchor: usize, tag: Option<&Tag>, range: &Range<usize>) -> Result<(), YamlError> {
    match tag {
        _ if anchor != 0 => Err(yaml_error(range.clone(), "anchors are not supported")),
        Some(tag) if !tag.is_yaml_core_schema() => Err(yaml_error(range.clone(), "tags are not supported")),
        _ => Ok(()),
    }
}

fn yaml_error(range: Range<usize>, message: &str) -> YamlError {
    YamlError { range, message: message.to_owned() }
}
