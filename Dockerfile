# Eider as a container: docker build -t eider .
# Runs without root. Writes only to /tmp and to files that the project names; put those on a volume. See docs/operations.md.

# The Node.js version of the tests. Debian, because DuckDB ships as a glibc library.
ARG NODE_VERSION=20

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
# The build runs the quickstart once, for V8's code cache.
COPY bin bin
COPY web web
COPY examples/quickstart examples/quickstart
RUN npm run build

FROM node:${NODE_VERSION}-bookworm-slim AS dependencies
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:${NODE_VERSION}-bookworm-slim
ENV NODE_ENV=production EIDER_HOST=0.0.0.0 EIDER_PORT=8080
WORKDIR /app
COPY --from=dependencies /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE CHANGELOG.md ./
COPY bin bin
COPY web web

# Mount the project here, read-only. Keep databases and caches on a volume at /data.
RUN mkdir /project /data && chown node:node /data
WORKDIR /project
USER node
VOLUME /data
EXPOSE 8080

# Set EIDER_HEALTH_URL if the REST listener uses TLS, or if `admin` has a separate listener.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.EIDER_HEALTH_URL ?? `http://127.0.0.1:${process.env.EIDER_PORT}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# On SIGTERM, requests in flight finish. Use a stop timeout longer than limits.shutdown-grace.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/bin/eider.cjs"]
CMD ["serve", "--config", "/project/eider.yaml", "--log-format", "json"]
