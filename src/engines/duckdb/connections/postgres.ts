import { server } from "./server.ts";

export const postgres = server("postgres", { "ssl-mode": "SSLMODE" });
