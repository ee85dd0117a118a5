import type { Method } from "../core.ts";
import { withCall } from "../open-call.ts";
import { argumentsOf, requiredString, stringArguments } from "../params.ts";
import { listMethod } from "./list-page.ts";

const get: Method = {
  name: "prompts/get",
  protocols: ["legacy", "modern"],
  nameParam: "name",
  async run(request, core) {
    const name = requiredString(request, "name");
    const args = stringArguments(argumentsOf(request));
    const { service, resultBuilder } = request.state;
    const { description, messages } = await withCall(request, core, (call) => service.getPrompt(name, args, call));
    return resultBuilder.result(
      request.protocol,
      `"description":${JSON.stringify(description)},"messages":${messages}`,
    );
  },
};

export const promptMethods: readonly Method[] = [listMethod("prompts/list", "prompts"), get];
