//! An MCP server as a shell script, which behaves as the test wants.

/// A well-behaved server with one tool, one prompt and one resource.
///
/// The environment variables `on_initialize`, `on_list`, `on_call` and `on_cancelled` are shell code that runs instead
/// of the default answer, with the request in `$line`; `tools` is another list of tools. `say` sends a result, `text`
/// the result of a call.
pub const MCP_SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { say "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
hello() { say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{}},"serverInfo":{"name":"sh","version":"1"}}'; }
[ -n "$tools" ] || tools='{"name":"echo","description":"says it","inputSchema":{"type":"object"}}'
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*) eval "${on_initialize:-hello}" ;;
    *'"method":"tools/list"'*) if [ -n "$on_list" ]; then eval "$on_list"; else say "{\"tools\":[$tools]}"; fi ;;
    *'"method":"tools/call"'*) eval "${on_call:-text called}" ;;
    *'"method":"prompts/list"'*) say '{"prompts":[{"name":"hello","description":"greets","arguments":[{"name":"who","required":true}]}]}' ;;
    *'"method":"prompts/get"'*) say '{"messages":[{"role":"user","content":{"type":"text","text":"greet them"}}]}' ;;
    *'"method":"resources/list"'*) say '{"resources":[{"uri":"note://1","name":"a note"}]}' ;;
    *'"method":"resources/read"'*) say '{"contents":[{"uri":"note://1","text":"what it says"}]}' ;;
    *'"method":"notifications/cancelled"'*) eval "${on_cancelled:-:}" ;;
  esac
done
"#;
