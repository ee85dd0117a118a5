import type { TaskSettings } from "../../config/mcp-config.ts";
import { clientKey, messageBytes } from "../client-key.ts";
import type { McpCore, McpRequest, Method } from "../core.ts";
import type { JsonText, McpCall, ToolResult } from "../mcp-service.ts";
import { openCall, rejectIfStopped, withCall } from "../open-call.ts";
import { argumentsOf, requiredString } from "../params.ts";
import { taskMembers } from "../tasks/task.ts";
import { listMethod } from "./list-page.ts";

const call: Method = {
  name: "tools/call",
  protocols: ["legacy", "modern"],
  nameParam: "name",
  async run(request, core) {
    const name = requiredString(request, "name");
    const args = argumentsOf(request);
    const { service, settings, resultBuilder } = request.state;
    const work = (call: McpCall): Promise<ToolResult> => service.callTool(name, args, call);
    if (settings.tasks !== undefined && request.meta.declaresTasks) {
      return runOrStartTask(work, { ...request, settings: settings.tasks }, core);
    }
    return resultBuilder.result(request.protocol, toolMembers(await withCall(request, core, work)));
  },
};

/** Returns the result if the call is fast, otherwise a task whose result the client fetches later. */
async function runOrStartTask(
  work: (call: McpCall) => Promise<ToolResult>,
  request: McpRequest & { readonly settings: TaskSettings },
  core: McpCore,
): Promise<JsonText> {
  const { protocol, owner, sender, settings, state } = request;
  const origin = { client: clientKey(owner, sender.address), bytes: messageBytes(request) };
  const open = openCall(request, core);
  const run = async (): Promise<string> => toolMembers(await work(open.call));
  const outcome = await rejectIfStopped(
    open,
    core.tasks.run({ run, openCall: open, owner, origin, requestId: sender.requestId, settings }),
  );
  return outcome.kind === "done"
    ? state.resultBuilder.result(protocol, outcome.members)
    : state.resultBuilder.task(taskMembers(outcome.task));
}

function toolMembers({ content, structuredContent, isError }: ToolResult): string {
  const structured = structuredContent === undefined ? "" : `,"structuredContent":${structuredContent}`;
  return `"content":${content}${structured},"isError":${isError}`;
}

export const toolMethods: readonly Method[] = [listMethod("tools/list", "tools"), call];
