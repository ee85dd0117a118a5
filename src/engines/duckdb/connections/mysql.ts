import { server } from "./server.ts";

export const mysql = server("mysql", {
  "ssl-mode": "SSL_MODE",
  "ssl-ca": "SSL_CA",
  "ssl-cert": "SSL_CERT",
  "ssl-key": "SSL_KEY",
  socket: "SOCKET",
});
