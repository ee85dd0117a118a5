import type { Method } from "../core.ts";
import { withCall } from "../open-call.ts";
import { argumentsOf, requiredText, texts } from "../params.ts";
import { listMethod } from "./list-page.ts";

const get: Method = {
  name: "prompts/get",
  protocols: ["legacy", "modern"],
  named: "name",
  async run(request, core) {
    const name = requiredText(request, "name");
    const args = texts(argumentsOf(request));
    const { service, stamp } = request.state;
    const { description, messages } = await withCall(request, core, (call) => service.getPrompt(name, args, call));
    return stamp.result(request.protocol, `"description":${JSON.stringify(description)},"messages":${messages}`);
  },
};

export const promptMethods: readonly Method[] = [listMethod("prompts/list", "prompts"), get];
