import { writeFileSync, existsSync, rmSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { test } from "vitest";
import { everyKind } from "../../test/openapi-tools.ts";
import { serviceFrom } from "../../test/service.ts";
import { describeProject } from "./project-document.ts";

test("serve", async () => {
  await using service = await serviceFrom(everyKind);
  await service.get("/table");
  const document = await describeProject(service.service, [service.url]);
  writeFileSync("/tmp/exp/doc.json", JSON.stringify(document, null, 2));
  writeFileSync("/tmp/exp/url", service.url);
  while (!existsSync("/tmp/exp/stop")) await setTimeout(500);
  rmSync("/tmp/exp/stop");
  for (const event of service.events) if (event.kind === "unexpected") console.log(event);
}, 600_000);
