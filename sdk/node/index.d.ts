// The types of index.js. What hooks receive and may answer is in types.d.ts, which is generated.

import type { Answers, EventName, Inputs, LlmRequestPatch, LlmResponse, ToolConfig } from "./types.js";

export * from "./types.js";

/** What a handler may answer: an object, or nothing for "no objection". */
export type Answer<E extends EventName> = Answers[E] | null | undefined | void;

/** A function that is asked about an event. */
export type Handler<E extends EventName> = (input: Inputs[E]) => Answer<E> | Promise<Answer<E>>;

export interface Hook {
  /**
   * Calls a function for every event of that name. Several functions for one event are asked in order, each seeing what
   * those before it changed; a deny or a stop ends the round. One that throws is a failure of the hook, never a yes.
   */
  on<E extends EventName>(event: E, handler: Handler<E>): this;
  /** What the handlers answer to an input. */
  fire<E extends EventName>(input: Inputs[E] & { hook_event_name: E }): Promise<Answers[E]>;
  /** Serves nothing before this is settled: for those who register handlers later than their first file ends. */
  until(promise: Promise<unknown>): void;
  /** Leaves stdin and stdout alone: for programs that fire events themselves. */
  manual(): void;
  /** Whether there is any handler. */
  readonly isUsed: boolean;
}

/** The program's handlers. They are served as soon as the program's first file has run to its end. */
export declare const hook: Hook;

/** The names of all events. */
export declare const events: readonly EventName[];

/** The event that somebody meant by a name that is none. */
export declare function suggest(name: string): EventName | undefined;

/** What went wrong, on stderr. */
export declare function say(error: unknown): void;

/** No objection. */
export declare function allow(): { decision: "allow" };

/** No, and why. On AfterTool it hides the result, on AfterAgent it demands another answer. */
export declare function deny(reason: string): { decision: "deny"; reason: string };

/** The user decides. */
export declare function ask(reason: string): { decision: "ask"; reason: string };

/** The agent stops. */
export declare function stop(reason: string): { continue: false; stopReason: string };

/** Words for the user. */
export declare function message(text: string): { systemMessage: string };

/** Words for the model. */
export declare function context(text: string): { hookSpecificOutput: { additionalContext: string } };

/** Arguments that are laid over the tool's own. */
export declare function rewrite(toolInput: Record<string, unknown>): { hookSpecificOutput: { tool_input: Record<string, unknown> } };

/** What changes in the request to the model. */
export declare function request(patch: LlmRequestPatch): { hookSpecificOutput: { llm_request: LlmRequestPatch } };

/** An answer, or a piece of one, in the place of the model's: its text, or a whole response. */
export declare function respond(response: string | LlmResponse): { hookSpecificOutput: { llm_response: LlmResponse } };

/** How the model may use tools: AUTO, ANY or NONE, and which. */
export declare function tools(mode: NonNullable<ToolConfig["mode"]>, names?: string[]): { hookSpecificOutput: { toolConfig: ToolConfig } };

/** A tool that runs next; its result takes the place of this one's. */
export declare function tailCall(
  name: string,
  args?: Record<string, unknown>,
): { hookSpecificOutput: { tailToolCallRequest: { name: string; args: Record<string, unknown> } } };

/** The model's memory is emptied. */
export declare function clearContext(): { hookSpecificOutput: { clearContext: true } };

/** Several answers as one, as the agent would merge them: any stop wins, then any deny, then any ask. */
export declare function combine<A extends (object | null | undefined)[]>(...answers: A): NonNullable<A[number]>;
