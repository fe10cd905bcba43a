// axe finds nothing to object to: in light and dark, wide and at 400 px, in every view.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { require, startBrowser, stopBrowser, withPage, writePage } from "./browser.mjs";
import { SAMPLE_HOOKS, sampleLines } from "./sample.mjs";

before(startBrowser);
after(stopBrowser);

const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

async function checkRules(page, view) {
  const { violations, passes } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const found = violations.map(
    ({ id, help, nodes }) =>
      `${view}: ${id}: ${help}: ${nodes
        .slice(0, 3)
        .map((node) => node.html.slice(0, 160))
        .join(" | ")}`,
  );
  assert.deepEqual(found, []);
  assert.ok(passes.length > 10);
}

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1600, 1440, 400]) {
    test(`axe's rules hold: ${colorScheme}, ${width} px`, async () => {
      const url = writePage(sampleLines(400), { hooks: SAMPLE_HOOKS });
      await withPage(url, { colorScheme, viewport: { width, height: 860 } }, async (page) => {
        await page.evaluate(AXE);
        await checkRules(page, "timeline");
        await page.click("#verdicts .v-deny");
        await page.locator(".row:has(.verdict .v-deny)").first().click();
        await checkRules(page, "details");
        await page.keyboard.press("Escape");
        await page.click("#reset");
        await page.fill("#text", "no-verify=false");
        await page.locator(".row:has-text('changed')").first().click();
        await checkRules(page, "difference");
        await page.keyboard.press("Escape");
        await page.click("#reset");
        await page.click("#verdicts .v-ask");
        await page.click("#show-overview");
        await page.click("#overview summary");
        await checkRules(page, "overview");
        const width = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(width[0] <= width[1], `the page is ${width[0]} px wide`);
      });
    });
  }
}

test("at 400 px a row keeps its verdict, event and call, and the details cover the list", async () => {
  await withPage(writePage(sampleLines(100)), { viewport: { width: 400, height: 800 } }, async (page) => {
    const row = page.locator(".row:has(.verdict .v-deny)").first();
    for (const part of [".verdict", ".event", ".call code", ".time"]) {
      const box = await row.locator(part).boundingBox();
      assert.ok(box && box.width > 20 && box.x >= 0 && box.x + box.width <= 400, part);
    }
    await row.click();
    assert.equal((await page.locator("#detail").boundingBox()).width, 400);
    await page.click("#detail button:text-is('Close')");
    assert.ok(await page.locator("#detail").isHidden());
  });
});
