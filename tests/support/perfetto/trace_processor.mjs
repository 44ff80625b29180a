// Feeds a trace to Perfetto's own trace processor, the WebAssembly that ui.perfetto.dev runs in a worker, and asks it SQL.
// node trace_processor.mjs DIRECTORY TRACE < queries.json: DIRECTORY has engine_bundle.js and trace_processor.wasm.
// The answers are written as the bytes that a worker posts: protos/perfetto/trace_processor/trace_processor.proto.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [directory, trace] = process.argv.slice(2);
const queries = JSON.parse(fs.readFileSync(0, "utf8"));
const CHUNK = 1 << 20, APPEND = 1, FINALIZE = 2, QUERY = 3;

process.on("uncaughtException", error => { // the bundle is one line: a stack with its source would be all of it
    console.error(String(error.message).slice(0, 500));
    process.exit(1);
});

class XMLHttpRequest { // synchronous, as workers load WebAssembly
    open(_method, url) { this.url = url; }
    send() {
        const file = fs.readFileSync(path.join(directory, path.basename(this.url)));
        this.response = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
    }
}

const said = line => console.error(String(line).slice(0, 500));
const worker = {
    XMLHttpRequest, URL, TextDecoder, TextEncoder, performance, crypto, setTimeout, clearTimeout,
    WorkerGlobalScope: Object, importScripts() {},
    location: { href: "http://localhost/engine_bundle.js", protocol: "http:", host: "localhost" },
    console: { log: said, warn: said, error: said },
};
worker.self = worker;
vm.createContext(worker);
vm.runInContext(fs.readFileSync(path.join(directory, "engine_bundle.js"), "utf8"), worker);

const varint = number => {
    const bytes = [];
    for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
    return Buffer.from([...bytes, number]);
};
const bytesField = (field, bytes) => Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
const numberField = (field, number) => Buffer.concat([varint(field * 8), varint(number)]);

const answers = [];
const port = { postMessage: bytes => answers.push(Buffer.from(bytes)) };
worker.onmessage({ data: port });
const Bytes = vm.runInContext("Uint8Array", worker);
let sequence = 0;
const ask = (method, ...arguments_) => {
    const request = Buffer.concat([numberField(1, sequence++), numberField(2, method), ...arguments_]);
    port.onmessage({ data: new Bytes(bytesField(1, request)) });
};

const begin = () => {
    const bytes = fs.readFileSync(trace);
    for (let at = 0; at < bytes.length; at += CHUNK) ask(APPEND, bytesField(101, bytes.subarray(at, at + CHUNK)));
    ask(FINALIZE);
    for (const query of queries) ask(QUERY, bytesField(103, bytesField(1, Buffer.from(query))));
    process.stdout.write(Buffer.concat(answers));
};
setTimeout(begin, 0); // after the promise that the runtime is ready
