import type { McpCore, McpRequest, Method } from "../core.ts";
import { requiredString } from "../params.ts";
import { CODE, invalidParams, RpcFailure, tasksNotDeclared } from "../protocol.ts";
import { type Task, taskMembers } from "../tasks/task.ts";

const get: Method = {
  name: "tasks/get",
  protocols: ["modern"],
  nameParam: "taskId",
  async run(request, core) {
    const task = await taskOf(request, core);
    return request.state.resultBuilder.result("modern", taskMembers(task));
  },
};

/** Eider's tasks never request input, so updates are ignored. */
const update: Method = {
  name: "tasks/update",
  protocols: ["modern"],
  nameParam: "taskId",
  async run(request, core) {
    await taskOf(request, core);
    return request.state.resultBuilder.result("modern", "");
  },
};

const cancel: Method = {
  name: "tasks/cancel",
  protocols: ["modern"],
  nameParam: "taskId",
  async run(request, core) {
    await core.tasks.cancel(await taskOf(request, core));
    return request.state.resultBuilder.result("modern", "");
  },
};

/** Tasks of other users count as not found. */
async function taskOf(request: McpRequest, core: McpCore): Promise<Task> {
  const { meta, method, owner, state } = request;
  if (state.settings.tasks === undefined) {
    throw new RpcFailure({ code: CODE.methodNotFound, message: `Method not found: ${method}` }, 404);
  }
  if (!meta.declaresTasks) throw tasksNotDeclared();
  const task = await core.tasks.find(requiredString(request, "taskId"), owner);
  if (task === undefined) throw invalidParams("Task not found");
  return task;
}

export const taskMethods: readonly Method[] = [get, update, cancel];
