// For tests of hooks: importing this leaves stdin and stdout alone, and `fire` asks the handlers of the files imported beside it.

import { hook } from "./index.js";

hook.manual();

/** What the handlers answer to an event; fields that every input has are filled in where they are missing. */
export const fire = (event, fields = {}) =>
  hook.fire({
    session_id: "test",
    transcript_path: "",
    cwd: process.cwd(),
    hook_event_name: event,
    timestamp: new Date().toISOString(),
    ...fields,
  });
