// Asks Hookwright's hooks before and after what opencode does. Whatever goes wrong on the way is a no.
import { spawn } from "node:child_process"
import { accessSync, constants, realpathSync, statSync } from "node:fs"
import { delimiter, isAbsolute, join, sep } from "node:path"

const PROGRAM = "@PROGRAM@"
// How many seconds each event is waited for; the program answers before that.
const PATIENCE = @PATIENCE@
// How much of what it says is read.
const MOST = 16 * 1024 * 1024

// Where the program is. One that is searched for is never taken from inside of the project, nor by a relative path.
function program(folders) {
  if (isAbsolute(PROGRAM)) return PROGRAM
  const roots = folders.map((folder) => realpathSync(folder)).filter((folder) => folder !== sep)
  const isOurs = (path) => path.includes(sep + "node_modules" + sep) || roots.some((root) => path.startsWith(root + sep))
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    if (!isAbsolute(folder)) continue
    try {
      const path = realpathSync(join(folder, PROGRAM))
      accessSync(path, constants.X_OK)
      if (statSync(path).isFile() && !isOurs(path)) return path
    } catch {}
  }
  throw new Error("hookwright is not installed on this machine, or only inside of this project")
}

function run(event, folders, payload) {
  return new Promise((resolve, reject) => {
    const args = ["bridge", "opencode", "--event", event, "--deadline", String(PATIENCE[event])]
    const child = spawn(program(folders), args, { cwd: folders[0], stdio: ["pipe", "pipe", "pipe"] })
    let stdout = ""
    let stderr = ""
    const fail = (words) => {
      clearTimeout(timer)
      child.kill("SIGKILL")
      // Whoever else holds the other ends is heard no more.
      child.stdout.destroy()
      child.stderr.destroy()
      reject(new Error(words))
    }
    const timer = setTimeout(() => fail("hookwright did not answer in time"), PATIENCE[event] * 1000)
    child.stdout.setEncoding("utf8")
    child.stderr.setEncoding("utf8")
    child.stdout.on("data", (piece) => {
      stdout += piece
      if (stdout.length > MOST) fail("hookwright's answer does not end")
    })
    child.stderr.on("data", (piece) => {
      stderr = (stderr + piece).slice(-4096)
    })
    // A program that does not read is no error: what it answers counts.
    child.stdin.on("error", () => {})
    child.on("error", (error) => fail("hookwright can't be started: " + error.message))
    child.on("close", (code, signal) => {
      clearTimeout(timer)
      if (code !== 0) return reject(new Error(stderr.trim() || "hookwright ended with " + (signal ?? code)))
      resolve(stdout)
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

// What Hookwright says. There is always a decision, and it is a no unless it says otherwise.
async function ask(event, folders, fields) {
  try {
    const payload = { hook_event_name: event, cwd: folders[0], ...fields }
    const answer = JSON.parse(await run(event, folders, payload))
    if (answer?.decision === "allow") return answer
    const reason = answer?.decision === "deny" ? answer.reason : "hookwright's answer is not understood"
    return { ...answer, decision: "deny", reason: reason || "a hook said no" }
  } catch (error) {
    return { decision: "deny", reason: "refused, because hooks can't be asked: " + error.message }
  }
}

function wrapped(context) {
  const escaped = String(context).replaceAll("<", "&lt;").replaceAll(">", "&gt;")
  return "\n\n<hook_context>" + escaped + "</hook_context>"
}

// The plugin for opencode 1.
export const Hookwright = async ({ directory, worktree, client }) => {
  const folders = [directory, worktree].filter((folder) => folder)
  // The arguments of calls that run, and the last answer of each session: what later events do not carry themselves.
  const calls = new Map()
  const answers = new Map()

  const say = async (answer) => {
    if (!answer.message) return
    try {
      await client.tui.showToast({ body: { message: String(answer.message), variant: "info" } })
    } catch {}
  }

  return {
    "tool.execute.before": async (input, output) => {
      const args = output.args ?? {}
      const answer = await ask("tool.execute.before", folders, {
        session_id: input.sessionID,
        tool_use_id: input.callID,
        tool_name: input.tool,
        tool_input: args,
      })
      await say(answer)
      if (answer.decision !== "allow") throw new Error(answer.reason)
      if (answer.args) {
        // In place: others hold on to the same object.
        for (const key of Object.keys(args)) delete args[key]
        Object.assign(args, answer.args)
        output.args = args
      }
      calls.set(input.callID, { ...args })
    },

    "tool.execute.after": async (input, output) => {
      const args = input.args ?? calls.get(input.callID) ?? {}
      calls.delete(input.callID)
      const answer = await ask("tool.execute.after", folders, {
        session_id: input.sessionID,
        tool_use_id: input.callID,
        tool_name: input.tool,
        tool_input: args,
        tool_response: { output: output.output ?? "" },
      })
      await say(answer)
      if (answer.decision !== "allow") {
        output.output = answer.reason
        output.metadata = {}
      }
      if (answer.context) output.output = (output.output ?? "") + wrapped(answer.context)
    },

    "chat.message": async (input, output) => {
      const texts = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
      const answer = await ask("chat.message", folders, {
        session_id: input.sessionID,
        prompt: texts.map((part) => part.text).join("\n"),
      })
      await say(answer)
      if (answer.decision !== "allow") throw new Error(answer.reason)
      const last = texts.at(-1)
      if (answer.context && last) last.text += wrapped(answer.context)
    },

    "experimental.session.compacting": async (input) => {
      await say(await ask("session.compacting", folders, { session_id: input.sessionID }))
    },

    event: async ({ event }) => {
      const about = event.properties ?? {}
      if (event.type === "message.updated" && about.info?.role === "assistant") {
        if (answers.get(about.info.sessionID)?.id !== about.info.id) {
          answers.set(about.info.sessionID, { id: about.info.id, text: "" })
        }
      } else if (event.type === "message.part.updated" && about.part?.type === "text") {
        const answer = answers.get(about.part.sessionID)
        if (answer?.id === about.part.messageID) answer.text = about.part.text
      } else if (event.type === "session.created") {
        await say(await ask("session.created", folders, { session_id: about.info?.id ?? "" }))
      } else if (event.type === "session.idle") {
        const session = about.sessionID ?? ""
        const text = answers.get(session)?.text ?? ""
        answers.delete(session)
        await say(await ask("session.idle", folders, { session_id: session, prompt_response: text }))
      }
    },
  }
}

// Tools that have another name in opencode 2.
const FORMER_NAMES = { shell: "bash", subagent: "task" }

function resultText(content) {
  if (typeof content === "string") return content
  return (Array.isArray(content) ? content : []).map((part) => part?.text ?? "").join("\n")
}

// The plugin for opencode 2. Opencode 1 calls this as well, with a context that has no tools: there the function above
// does the work.
async function setup(context) {
  if (typeof context?.tool?.hook !== "function") return
  const folders = [context.location?.directory ?? process.cwd()]
  const call = (event) => ({
    session_id: event.sessionID,
    tool_use_id: event.id,
    tool_name: FORMER_NAMES[event.tool] ?? event.tool,
    tool_input: event.input ?? {},
  })

  await context.tool.hook("execute.before", async (event) => {
    const answer = await ask("tool.execute.before", folders, call(event))
    if (answer.decision !== "allow") throw new Error(answer.reason)
    if (answer.args) event.input = answer.args
  })

  await context.tool.hook("execute.after", async (event) => {
    if (event.status !== "completed") return
    const text = resultText(event.result?.content)
    const fields = { ...call(event), tool_response: { output: text } }
    const answer = await ask("tool.execute.after", folders, fields)
    if (answer.decision !== "allow") event.result = { content: answer.reason }
    if (answer.context) {
      const told = answer.decision === "allow" ? text : answer.reason
      event.result = { ...event.result, content: told + wrapped(answer.context) }
    }
  })

  // A second gate for commands: a permission that is denied holds whatever becomes of an error above.
  if (typeof context.permission?.hook === "function") {
    await context.permission.hook("evaluate", async (event) => {
      if (event.effect === "deny" || !["shell", "bash"].includes(event.action)) return
      const command = event.metadata?.command ?? (event.resources ?? []).join("\n")
      const answer = await ask("tool.execute.before", folders, {
        session_id: event.sessionID,
        tool_name: "bash",
        tool_input: { command },
      })
      if (answer.decision !== "allow") event.effect = "deny"
    })
  }
}

// Opencode 1 calls `server`, opencode 2 calls `setup`.
export default { id: "hookwright", server: Hookwright, setup }
