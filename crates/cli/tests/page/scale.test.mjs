// 10,000 lines scroll with the work of a screen per frame; 200,000 lines open, and are searched and summed up.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { shows, startBrowser, stopBrowser, withPage, writePage } from "./browser.mjs";
import { SAMPLE_HOOKS, sampleLines } from "./sample.mjs";

before(startBrowser);
after(stopBrowser);

// A screen has about 30 rows of some 20 elements each, a few more rows above and below, and the filters.
const MAX_ELEMENTS = 2500;

/** Scrolls by so many pixels per frame; returns the most elements, added rows and layouts that a frame had. */
async function scroll(page, frames, pixels) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const layouts = async () =>
    (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "LayoutCount").value;
  const before = await layouts();
  const most = await page.evaluate(
    async ([frames, pixels]) => {
      const list = document.getElementById("list");
      let added = 0;
      const observer = new MutationObserver((changes) =>
        changes.forEach((change) => (added += change.addedNodes.length)),
      );
      observer.observe(document.getElementById("rows"), { childList: true });
      const most = { elements: 0, added: 0, blank: 0 };
      for (let frame = 0; frame < frames; frame++) {
        added = 0;
        list.scrollTop += pixels;
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))));
        most.elements = Math.max(most.elements, document.querySelectorAll("*").length);
        most.added = Math.max(most.added, added);
        const box = list.getBoundingClientRect();
        const middle = document.elementFromPoint(box.left + 40, box.top + box.height / 2);
        if (!middle?.closest(".item")) most.blank += 1;
      }
      return most;
    },
    [frames, pixels],
  );
  return { ...most, layoutsPerFrame: ((await layouts()) - before) / frames };
}

test("10,000 lines scroll with little work per frame", async () => {
  await withPage(writePage(sampleLines(10_000)), {}, async (page) => {
    const slow = await scroll(page, 60, 90);
    assert.ok(slow.elements < MAX_ELEMENTS, JSON.stringify(slow));
    assert.ok(slow.added <= 8, `three rows come into view per frame: ${JSON.stringify(slow)}`);
    assert.ok(slow.layoutsPerFrame <= 4, JSON.stringify(slow));
    assert.equal(slow.blank, 0);
    const fast = await scroll(page, 60, 4000);
    assert.ok(fast.elements < MAX_ELEMENTS, JSON.stringify(fast));
    assert.ok(fast.added <= 60, JSON.stringify(fast));
    assert.ok(fast.layoutsPerFrame <= 4, JSON.stringify(fast));
    assert.equal(fast.blank, 0);
  });
});

test("200,000 lines open", async () => {
  await withPage(writePage(sampleLines(200_000), { hooks: SAMPLE_HOOKS }), {}, async (page) => {
    assert.match(await page.textContent("#range"), /^200,000 lines/);
    assert.ok((await page.locator(".row").count()) > 10);
    await page.focus("#list");
    await page.keyboard.press("End");
    await page.locator(".row:has-text('The journal begins here')").waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".detail-head:has-text('line 1 ')").waitFor();
    await page.keyboard.press("Escape");
    await page.fill("#text", "no-prod-database is not armed");
    await page.waitForFunction(() => / of 200,000 lines$/.test(document.getElementById("count").textContent), null, {
      timeout: 60_000,
    });
    await page.click("#reset");
    await shows(page, "");
    await page.click("#show-overview");
    assert.match(await page.innerText("#overview"), /200,000 lines/);
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    assert.ok(elements < MAX_ELEMENTS, String(elements));
  });
});
