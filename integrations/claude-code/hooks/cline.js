// Automatic memory for Cline. A Cline plugin cannot ask for another answer: there are no corrections.
const INPUTS = {
  apply_patch: (input) => ["apply_patch", { patch: input.input ?? input }],
  editor: (input) => ["Edit", { ...input, file_path: input.path }],
  run_commands: ({ commands }) => ["Bash", { command: [commands].flat().join("\n") }],
};
const OTHERS = /^(ask_question|fetch_web_content|search_codebase|skills|spawn_agent|submit_and_exit|team_|web_search)/;

function promptOf({ messages }) {
  const last = messages.filter(({ role, metadata }) => role === "user" && !metadata?.displayRole).at(-1);
  const texts = (last?.content ?? []).filter(({ type }) => type === "text").map(({ text }) => text);
  return texts.join("\n").replace(/<\/?user_input[^>]*>/g, "").trim();
}

function callOf({ toolCall, input }) {
  const { toolName: name, toolCallId: tool_use_id } = toolCall;
  const [tool_name, tool_input] = INPUTS[name]?.(input) ?? [`mcp__${name}`, input];
  return { tool_name, tool_input, tool_use_id };
}

const sessions = new Set(); // started ones
let folder; // of the session

function event({ agentId, conversationId, parentAgentId }, name, more) {
  const agent = parentAgentId ? { agent_id: agentId } : {};
  return { session_id: conversationId, cwd: folder, hook_event_name: name, ...agent, ...more };
}

export const plugin = {
  name: "remembrancer",
  manifest: { capabilities: ["hooks"] },
  setup(_api, { workspaceInfo }) {
    folder = workspaceInfo?.rootPath ?? process.cwd();
  },
  hooks: {
    beforeRun: async ({ snapshot }) => {
      const prompt = promptOf(snapshot);
      if (!prompt || snapshot.parentAgentId) return undefined;
      const isNew = !sessions.has(snapshot.conversationId);
      sessions.add(snapshot.conversationId);
      const started = isNew ? await tried(event(snapshot, "SessionStart", { source: "startup" })) : {};
      const answer = await tried(event(snapshot, "UserPromptSubmit", { prompt }));
      const texts = [started, answer].map((one) => one.hookSpecificOutput?.additionalContext).filter(Boolean);
      return texts.length ? { appendContext: texts.join("\n\n") } : undefined;
    },
    beforeTool: async (context) => {
      if (OTHERS.test(context.toolCall.toolName)) return undefined;
      const answer = await hook(event(context.snapshot, "PreToolUse", callOf(context))).catch(String);
      const { permissionDecision, permissionDecisionReason: reason } = answer.hookSpecificOutput ?? {};
      if (typeof answer === "string") return { skip: true, reason: `Remembrancer could not check the call: ${answer}` };
      return permissionDecision === "deny" ? { skip: true, reason } : undefined;
    },
    afterTool: async (context) => {
      if (OTHERS.test(context.toolCall.toolName)) return;
      const { output, isError } = context.result;
      const name = isError ? "PostToolUseFailure" : "PostToolUse";
      const text = typeof output === "string" ? output : JSON.stringify(output);
      await tried(event(context.snapshot, name, { ...callOf(context), tool_response: { stdout: text }, error: text }));
    },
    afterRun: async ({ snapshot, result }) => {
      if (snapshot.parentAgentId || result.status !== "completed" || !result.outputText) return;
      await tried(event(snapshot, "Stop", { last_assistant_message: result.outputText, stop_hook_active: true }));
    },
  },
};
