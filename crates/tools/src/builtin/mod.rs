//! The built-in tools, one file each. Several of them share `file_content`, `planned_edit`, `nearest_text` and
//! `glob_pattern`.

mod file_content;
mod glob;
mod glob_pattern;
pub(crate) mod google_web_search;
mod list_directory;
mod nearest_text;
mod planned_edit;
mod read_file;
pub(crate) mod read_many_files;
mod replace;
mod run_shell_command;
mod save_memory;
mod search_file_content;
mod web_fetch;
mod write_file;
mod write_todos;

use crate::tool::{BuiltinAdapter, BuiltinTool, Tool};
use google_web_search::GoogleWebSearch;
use std::sync::Arc;

/// Whether the session can search the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebSearchSupport {
    /// Calls have a [`WebSearch`](google_web_search::WebSearch) in their context.
    Available,
    /// The tool for it is not offered.
    Unavailable,
}

/// Returns all built-in tools, in the order of the catalog's table.
pub(crate) fn builtin_tools(searching: WebSearchSupport) -> Vec<Arc<dyn Tool>> {
    fn tool(builtin: impl BuiltinTool) -> Arc<dyn Tool> {
        Arc::new(BuiltinAdapter(builtin))
    }
    let mut tools = vec![
        tool(list_directory::ListDirectory),
        tool(read_file::ReadFile),
        tool(search_file_content::SearchFileContent),
        tool(glob::GlobTool),
        tool(replace::Replace),
        tool(write_file::WriteFile),
        tool(web_fetch::WebFetch::default()),
        tool(read_many_files::ReadManyFiles),
        tool(run_shell_command::RunShellCommand),
        tool(save_memory::SaveMemory),
    ];
    tools.extend((searching == WebSearchSupport::Available).then(|| tool(GoogleWebSearch)));
    tools.push(tool(write_todos::WriteTodos));
    tools
}
