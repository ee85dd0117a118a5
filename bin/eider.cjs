#!/usr/bin/env node
// Queries run on libuv's threads. Their number is only read before the first import of an ES module,
// so it is set here, in CommonJS, and nowhere else.
process.env.UV_THREADPOOL_SIZE ??= "40";
import("../dist/main.js").then(
  ({ main }) => main(process.argv.slice(2)),
  (error) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
