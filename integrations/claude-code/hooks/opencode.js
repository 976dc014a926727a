// Automatic memory for opencode.
const TOOLS = { bash: "Bash", edit: "Edit", multiedit: "MultiEdit", patch: "apply_patch", read: "Read", write: "Write" };
const OTHERS = /^(batch|codesearch|glob|grep|invalid|list|lsp|plan|question|skill|task|todo|web)/;

function textOf(parts) {
  return parts.filter((one) => one.type === "text" && !one.synthetic && !one.ignored).map((one) => one.text).join("\n").trim();
}

function inputOf(args) {
  return { ...args, file_path: args.filePath ?? args.file_path, command: args.command ?? args.patchText };
}

export const Remembrancer = async ({ client, directory }) => {
  const sessions = new Map(); // by id: false for those of subagents
  const calls = new Map(); // running calls of tools, by id

  async function isMain(id) {
    if (!sessions.has(id)) {
      const session = await client.session.get({ path: { id } });
      sessions.set(id, session.data?.parentID ? false : { revised: false });
    }
    return sessions.get(id);
  }

  const event = (id, name, more) => ({ session_id: id, cwd: directory, hook_event_name: name, ...more });

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const isNew = !sessions.has(sessionID);
      const prompt = textOf(parts);
      const session = prompt && (await isMain(sessionID));
      if (!session) return;
      session.revised = false;
      const started = isNew ? await tried(event(sessionID, "SessionStart", { source: "startup" })) : {};
      const answer = await tried(event(sessionID, "UserPromptSubmit", { prompt }));
      const texts = [started, answer].map((one) => one.hookSpecificOutput?.additionalContext).filter(Boolean);
      for (const text of texts) {
        const id = `prt_${Date.now().toString(16)}${Math.random().toString(36).slice(2, 10)}`;
        parts.push({ id, sessionID, messageID: message.id, type: "text", synthetic: true, text });
      }
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      if (OTHERS.test(tool)) return;
      const call = { tool_name: TOOLS[tool] ?? `mcp__${tool}`, tool_input: inputOf(args), tool_use_id: callID };
      const answer = await hook(event(sessionID, "PreToolUse", call));
      const decision = answer.hookSpecificOutput;
      if (decision?.permissionDecision === "deny") throw new Error(decision.permissionDecisionReason);
      calls.set(callID, call);
    },
    "tool.execute.after": async ({ sessionID, callID }, { output }) => {
      const call = calls.get(callID);
      calls.delete(callID);
      if (call) await tried(event(sessionID, "PostToolUse", { ...call, tool_response: { stdout: String(output ?? "") } }));
    },
    event: async ({ event: { type, properties } }) => {
      if (type !== "session.idle") return;
      const id = properties.sessionID;
      const session = await isMain(id);
      if (!session) return;
      const messages = (await client.session.messages({ path: { id } })).data ?? [];
      const last = messages.filter(({ info }) => info.role === "assistant").at(-1);
      const text = last ? textOf(last.parts) : "";
      if (!text) return;
      const answer = await tried(event(id, "Stop", { last_assistant_message: text, stop_hook_active: session.revised }));
      if (answer.decision !== "block" || session.revised) return;
      session.revised = true;
      const parts = [{ type: "text", synthetic: true, text: answer.reason }];
      await client.session.prompt({ path: { id }, body: { parts } });
    },
  };
};
