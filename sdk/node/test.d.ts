import type { Answers, EventName, Inputs } from "./types.js";

/** What the handlers answer to an event; fields that every input has are filled in where they are missing. */
export declare function fire<E extends EventName>(event: E, fields?: Partial<Inputs[E]>): Promise<Answers[E]>;
