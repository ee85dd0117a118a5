# Eider as a container: docker build -t eider .
# Needs no root, writes nothing but /tmp and what the project names (put that on a volume): see docs/operations.md.

# The version of Node that the tests run on. Debian, since DuckDB comes as a library for glibc.
ARG NODE_VERSION=20

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
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

# The project is mounted here, read-only. What it keeps (a database, a cache) belongs on a volume at /data.
RUN mkdir /project /data && chown node:node /data
WORKDIR /project
USER node
VOLUME /data
EXPOSE 8080

# EIDER_HEALTH_URL: where health is found when the REST listener speaks TLS, or when `admin` has a listener of its own.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.EIDER_HEALTH_URL ?? `http://127.0.0.1:${process.env.EIDER_PORT}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# SIGTERM lets calls in flight end: give it longer than limits.shutdown-grace.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/bin/eider.cjs"]
CMD ["serve", "--config", "/project/eider.yaml", "--log-format", "json"]
