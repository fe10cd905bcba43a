// Serves a plugin: a JavaScript module that exports handlers by event, `export default { BeforeTool(input) {…} }` or
// `export function BeforeTool(input) {…}`. Finds and loads it; everything else is index.js.
//
//     node plugin.js PACKAGE FOLDER

import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { events, hook, namesIn, say, suggest } from "./index.js";

/** The file that a package name, or a path, means from a folder on. */
function find(name, folder) {
  const place = resolve(folder);
  const isPath = isAbsolute(name) || /^\.\.?([/\\]|$)/.test(name);
  if (isPath) {
    const path = resolve(place, name);
    const isFolder = existsSync(path) && statSync(path).isDirectory();
    // A part of a package has no file of that name where `exports` says another.
    const [, root, rest] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)(\/.+)$/.exec(path) ?? [];
    const entry = isFolder ? exported(path, ".") : root && !existsSync(path) ? exported(root, `.${rest}`) : undefined;
    return entry ?? createRequire(join(place, "index.js")).resolve(path);
  }
  const [, root, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name) ?? [];
  if (!root) throw new Error(`${JSON.stringify(name)} is no package's name and no path`);
  for (let up = place; ; up = dirname(up)) {
    const entry = exported(join(up, "node_modules", root), `.${rest ?? ""}`);
    if (entry) return entry;
    if (existsSync(join(up, "node_modules", root)) || up === dirname(up)) break;
  }
  return createRequire(join(place, "index.js")).resolve(name);
}

/** What a package's `exports` says to importers; node's own resolver, seen from here, knows only what it says to `require`. */
function exported(folder, entry) {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return undefined;
  const { exports } = JSON.parse(readFileSync(file, "utf8"));
  const isTable = typeof exports === "object" && exports !== null && Object.keys(exports).some((key) => key.startsWith("."));
  const target = chosen(isTable ? exports[entry] : entry === "." ? exports : undefined);
  return target && join(folder, target);
}

function chosen(target) {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.map(chosen).find((one) => one !== undefined);
  if (typeof target !== "object" || target === null) return undefined;
  const key = Object.keys(target).find((key) => ["node", "import", "default"].includes(key) && chosen(target[key]) !== undefined);
  return key && chosen(target[key]);
}

/** The handlers among a module's exports, with what they are called on. */
function* handlers(module) {
  const groups = [module.default, module].filter((group) => typeof group === "object" && group !== null);
  const seen = new Set();
  for (const group of groups) {
    for (const name of namesIn(group)) {
      const value = group[name];
      if (seen.has(value)) continue;
      if (events.includes(name)) {
        if (typeof value !== "function") throw new Error(`it exports ${name}, which is no function`);
        seen.add(value);
        yield [name, (input) => value.call(group, input)];
      } else if (typeof value === "function" && suggest(name)) {
        seen.add(value);
        process.stderr.write(`hookwright-hook: there is no event ${name}; did you mean ${suggest(name)}?\n`);
      }
    }
  }
}

async function load([name, folder]) {
  if (!name || !folder) throw new Error("which plugin? node plugin.js PACKAGE FOLDER");
  const file = find(name, folder);
  const module = await import(pathToFileURL(file).href).catch((error) => {
    process.stderr.write(`hookwright-hook: ${file} can't be loaded\n`);
    throw error;
  });
  let count = 0;
  for (const [event, handler] of handlers(module)) {
    hook.on(event, handler);
    count += 1;
  }
  // A module may also have called hook.on itself.
  if (count === 0 && !hook.isUsed) throw new Error(`plugin ${name} exports no handler: none of ${events.join(", ")}`);
}

const loaded = load(process.argv.slice(2));
hook.until(loaded);
try {
  await loaded;
} catch (error) {
  say(error);
  process.exit(1);
}
