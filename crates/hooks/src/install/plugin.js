// One policy for agents' hooks. Written by `hob hooks install`; `hob hooks uninstall` takes it out.
import { spawn } from "node:child_process"

const PROGRAM = "HOB"
const FAIL = "open"
const EVENTS = []
const GATE = "tool.execute.before"

function hook(event, payload, cwd) {
  if (!EVENTS.includes(event)) return {}
  return new Promise((resolve) => {
    const reason = (why) => `hob could not decide, and this hook fails ${FAIL}: ${why}`
    const failed = (why) => resolve(FAIL !== "open" && event === GATE ? { decision: "deny", reason: reason(why) } : {})
    const child = spawn(PROGRAM, ["hook", event, "--agent", "opencode", "--fail", FAIL], { cwd, timeout: 10000 })
    let [said, why] = ["", ""]
    child.stdout.on("data", (data) => (said += data))
    child.stderr.on("data", (data) => (why += data))
    child.stdin.on("error", () => {})
    child.on("error", (error) => failed(error.message))
    child.on("close", (code) => {
      if (code === 2) return resolve({ decision: "deny", reason: why.trim() })
      if (code !== 0) return failed(why.trim() || "it was ended")
      try {
        resolve(said ? JSON.parse(said) : {})
      } catch {
        failed("its answer is not whole")
      }
    })
    child.stdin.end(JSON.stringify({ hook_event_name: event, ...payload, cwd }))
  })
}

export const Hob = async ({ directory }) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
    const call = { session_id: sessionID, tool_use_id: callID, tool_name: tool, tool_input: args }
    const said = await hook("tool.execute.before", call, directory)
    if (said.decision === "deny") throw new Error(said.reason)
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
    const call = { session_id: sessionID, tool_use_id: callID, tool_name: tool, tool_input: args }
    const said = await hook("tool.execute.after", { ...call, tool_response: result.output }, directory)
    if (said.context) result.output += `\n\n${said.context}`
  },
  event: async ({ event: { type, properties } }) => {
    const session = properties?.sessionID ?? properties?.info?.id
    await hook(type, { session_id: session }, directory)
  },
})
