import type { ConnectionType } from "./connection-type.ts";
import { server } from "./server.ts";

const attachedServer = server({
  type: "mysql",
  options: {
    "ssl-mode": "SSL_MODE",
    "ssl-ca": "SSL_CA",
    "ssl-cert": "SSL_CERT",
    "ssl-key": "SSL_KEY",
    socket: "SOCKET",
  },
  withDefaults: (address) => address,
});

/** DuckDB runs `mysql_query` outside its read-only transaction, so a stored function in it can write. */
export const mysql: ConnectionType = { ...attachedServer, unprotectedFunctions: ["MYSQL_QUERY"] };
