// Loaded into the program before it starts (NODE_OPTIONS): tells every second how much its heap holds.
const { writeFileSync } = require("node:fs");
const path = process.env.EIDER_SOAK_HEAP;
setInterval(() => writeFileSync(path, String(process.memoryUsage().heapUsed)), 1_000).unref();
