import type { McpCore, McpRequest, Method } from "../core.ts";
import { requiredText } from "../params.ts";
import { CODE, invalidParams, RpcFailure, tasksNotDeclared } from "../protocol.ts";
import { type Task, taskMembers } from "../tasks/task.ts";

const get: Method = {
  name: "tasks/get",
  eras: ["modern"],
  named: "taskId",
  async run(request, core) {
    const task = await taskOf(request, core);
    return request.state.stamp.result("modern", taskMembers(task));
  },
};

/** No task of ours ever asks for anything: answers to questions that nobody asked are ignored. */
const update: Method = {
  name: "tasks/update",
  eras: ["modern"],
  named: "taskId",
  async run(request, core) {
    await taskOf(request, core);
    return request.state.stamp.result("modern", "");
  },
};

const cancel: Method = {
  name: "tasks/cancel",
  eras: ["modern"],
  named: "taskId",
  async run(request, core) {
    await core.tasks.cancel(await taskOf(request, core));
    return request.state.stamp.result("modern", "");
  },
};

/** A task of somebody else is no task. */
async function taskOf(request: McpRequest, core: McpCore): Promise<Task> {
  const { meta, method, owner, state } = request;
  if (state.settings.tasks === undefined) {
    throw new RpcFailure({ code: CODE.methodNotFound, message: `Method not found: ${method}` }, 404);
  }
  if (!meta.declaresTasks) throw tasksNotDeclared();
  const task = await core.tasks.find(requiredText(request, "taskId"), owner);
  if (task === undefined) throw invalidParams("Task not found");
  return task;
}

export const taskMethods: readonly Method[] = [get, update, cancel];
