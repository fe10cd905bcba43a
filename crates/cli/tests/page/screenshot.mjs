// Takes the README's picture of the journal page.
//
//     node screenshot.mjs PICTURE.png
//
// Needs the variables that browser.mjs names. The fonts Inter and JetBrains Mono are used where they are installed.

import { startBrowser, stopBrowser, withPage, writePage } from "./browser.mjs";
import { SAMPLE_HOOKS, sampleLines } from "./sample.mjs";

const SEED = 7;

/** Returns the line that is opened: a forced push of Hookwright's agent, in a turn that was to push something. */
function chosenLine(lines) {
  const parsed = lines.map((line) => JSON.parse(line));
  const prompts = new Map(
    parsed.filter(({ event }) => event === "BeforeAgent").map((line) => [line.session, line.content.input.prompt]),
  );
  return parsed.findLast(
    ({ agent, session, decided_by }) =>
      agent === "hookwright" && decided_by?.[0] === "no-force-push" && prompts.get(session).includes("push"),
  );
}

const path = process.argv[2] ?? new URL("../../../../docs/screenshots/journal.png", import.meta.url).pathname;
const lines = [...sampleLines(3000, SEED)];
await startBrowser();
const url = writePage(lines, { title: "Hookwright journal", hooks: SAMPLE_HOOKS });
const options = { viewport: { width: 1600, height: 900 }, deviceScaleFactor: 1.5, colorScheme: "light" };
await withPage(`${url}#${chosenLine(lines).seq}`, options, async (page) => {
  await page.locator(".row[aria-selected=true]").waitFor();
  // The turn of the opened line comes to the top.
  await page.evaluate(() => {
    const opened = document.querySelector(".row[aria-selected=true]");
    let turn = opened;
    const at = (index) => document.querySelector(`[data-index="${index}"]`);
    for (let index = Number(opened.dataset.index); turn && !turn.classList.contains("turn"); index--) turn = at(index);
    document.getElementById("list").scrollTop +=
      (turn ?? opened).getBoundingClientRect().top - document.getElementById("list").getBoundingClientRect().top;
  });
  await page.waitForTimeout(300);
  await page.screenshot({ path });
});
await stopBrowser();
