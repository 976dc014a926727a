// Start of the plugins for opencode and Cline: they pass events to the hook program of Remembrancer.
// `remembrancer install` writes it, with the words of the command, and the agent's own part in one file.
import { spawn } from "node:child_process";

const COMMAND = ["COMMAND"];

function hook(event) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] });
    let text = "";
    child.stdout.on("data", (part) => (text += part));
    child.on("error", reject);
    child.on("close", () => {
      try {
        resolve(text ? JSON.parse(text) : {});
      } catch (error) {
        reject(error);
      }
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
  });
}

// Memory never holds up a turn: without an answer there is none.
const tried = (event) => hook(event).catch(() => ({}));
