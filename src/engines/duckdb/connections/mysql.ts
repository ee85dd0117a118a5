import { server } from "./server.ts";

export const mysql = server("mysql");
