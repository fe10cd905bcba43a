// Follows the journal while `hookwright journal page --live` runs.

const POLL_MS = 1000;
const HIDDEN_POLL_MS = 10_000;
const MAX_RETRY_MS = 30_000;

/** Asks for the story of a line as lines of text; an empty list if there is none. */
async function fetchStory(seq) {
  try {
    const response = await fetch(`why?line=${seq}`, { cache: "no-store", redirect: "error" });
    return response.ok ? await response.json() : [];
  } catch {
    return [];
  }
}

class LiveFeed {
  /** `onText` gets new lines as text, and returns when they are added. */
  constructor(onText, onIdle) {
    this.onText = onText;
    this.onIdle = onIdle;
    this.status = byId("live");
    this.status.hidden = false;
    this.failures = 0;
    // Up to which line the server has sent.
    this.last = "";
  }

  async follow() {
    for (;;) {
      const pause = await this.poll();
      if (pause) await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Asks once for what is new; returns how long to wait before the next time. */
  async poll() {
    try {
      const after = this.last ? `?after=${this.last}` : "";
      const response = await fetch(`lines${after}`, { cache: "no-store", redirect: "error" });
      if (!response.ok) throw new Error(String(response.status));
      const last = response.headers.get("journal-last") ?? "";
      await this.onText(await response.text());
      this.failures = 0;
      this.say("following", "Following");
      // More may be there at once.
      if (last && last !== this.last) {
        this.last = last;
        return 0;
      }
      this.onIdle();
      return document.hidden ? HIDDEN_POLL_MS : POLL_MS;
    } catch {
      this.failures += 1;
      this.say("broken", "Not connected: is the command still running?");
      this.onIdle();
      return Math.min(MAX_RETRY_MS, POLL_MS * 2 ** Math.min(this.failures - 1, 5));
    }
  }

  say(state, text) {
    if (this.status.textContent === text) return;
    this.status.className = `live ${state}`;
    this.status.textContent = text;
  }
}
