// Runs one source in a process that can reach nothing, and prints what it recorded.
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const write = process.stdout.write.bind(process.stdout);
const exit = process.exit.bind(process);
const source = pathToFileURL(process.argv[2]).href;
const home = new URL("./index.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "hakiri") return { url: home, format: "module-typescript", shortCircuit: true };
    if (specifier === source) return { url: source, format: "module-typescript", shortCircuit: true };
    throw new Error(`a transform imports "hakiri" and nothing else, not "${specifier}"`);
  },
});
// Node 24 has no switch for the network; without these names and without imports there is no way to it.
for (const name of ["fetch", "WebSocket", "EventSource", "XMLHttpRequest", "process", "Worker"]) {
  Reflect.deleteProperty(globalThis, name);
}
// What the source prints is not the recording.
console.log = console.info = console.debug = console.error;

try {
  const found = await import(source);
  write(JSON.stringify({ transforms: Object.values(found).filter((one) => one?.pipeline && one?.frame) }), () => exit(0));
} catch (wrong) {
  const line = /\.ts:(\d+)/.exec(String(wrong?.stack ?? "").replaceAll(home, ""))?.[1];
  write(JSON.stringify({ error: String(wrong?.message ?? wrong), line: line ? Number(line) : null }), () => exit(0));
}
