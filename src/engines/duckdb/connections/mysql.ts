import { server } from "./server.ts";

export const mysql = server({
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
