#!/usr/bin/env node
// Queries run on libuv's threads. Their number is only read before the first import of an ES module,
// so it is set here, in CommonJS, and nowhere else. It leaves room beside the most queries that may run at once.
process.env.UV_THREADPOOL_SIZE ??= "72";
// libpq reads it: otherwise, connecting to a Postgres that does not respond would never fail. A connection string may set connect_timeout.
process.env.PGCONNECT_TIMEOUT ??= "10";
// Its warning of older versions of Node is not for the one who runs a service.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";
Promise.resolve()
  .then(() => {
    const { loadProgram } = require("./load-program.cjs");
    return loadProgram();
  })
  .then(({ main }) => main(process.argv.slice(2)))
  .catch((error) => {
    console.error("eider: this is a mistake of Eider itself, please report it with these lines");
    console.error(error instanceof Error ? error.stack : error);
    process.exitCode = 1;
  });
