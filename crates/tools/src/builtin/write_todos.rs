//! The tool `write_todos`: shows the user the model's task list. It keeps no state: each call has the whole list.

use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::result::{ResultContent, Todo, TodoStatus, ToolDisplay, ToolResult};
use crate::tool::BuiltinTool;
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) struct WriteTodos;

#[derive(Deserialize)]
pub(crate) struct WriteTodosArgs {
    todos: Vec<Todo>,
}

impl BuiltinTool for WriteTodos {
    type Args = WriteTodosArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::WRITE_TODOS
    }

    fn description(&self) -> String {
        "Shows the user a list of the steps of the work at hand and how far each is. Use it for work of several steps, \
         not for what takes one or two. Every call gives the whole list anew; mark a step in_progress before you begin \
         it (one at a time) and completed as soon as it is done, blocked if it cannot go on, cancelled if it is no longer \
         needed."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "description": "The whole list; it takes the place of the one before.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "description": { "type": "string", "description": "What is to be done." },
                            "status": {
                                "type": "string",
                                "description": "How far it is.",
                                "enum": ["pending", "in_progress", "completed", "cancelled", "blocked"],
                            },
                        },
                        "required": ["description", "status"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["todos"],
            "additionalProperties": false,
        })
    }

    fn describe(&self, args: &WriteTodosArgs) -> String {
        match args.todos.len() {
            0 => "Cleared todo list".to_owned(),
            count => format!("Set {count} todo(s)"),
        }
    }

    async fn run(&self, args: WriteTodosArgs, _ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        let WriteTodosArgs { todos } = args;
        if todos.iter().any(|todo| todo.description.trim().is_empty()) {
            return Err(ToolFailure::invalid_params("Each todo must have a non-empty description string"));
        }
        if todos.iter().filter(|todo| todo.status == TodoStatus::InProgress).count() > 1 {
            return Err(ToolFailure::invalid_params("Only one task can be \"in_progress\" at a time."));
        }
        let lines: Vec<String> = todos
            .iter()
            .enumerate()
            .map(|(index, todo)| format!("{}. [{}] {}", index + 1, todo.status.as_str(), todo.description))
            .collect();
        let text = if lines.is_empty() {
            "Successfully cleared the todo list.".to_owned()
        } else {
            format!("Successfully updated the todo list. The current list is now:\n{}", lines.join("\n"))
        };
        Ok(ToolResult::new(ResultContent::Text(text), ToolDisplay::Todos(todos)))
    }
}
