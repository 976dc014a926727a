// The keyboard: / searches, Ctrl+K opens the palette, j and k move through rows, ? lists the keys.
// And selectors that act at once. Without this script every link and button still does its work.
const typing = (node) => node.closest("input, textarea, select, [contenteditable]");
const rows = () => [...document.querySelectorAll("[data-row]")];
const here = () => rows().findIndex((row) => row.contains(document.activeElement));

for (const field of document.querySelectorAll("[data-acts]")) {
  field.addEventListener("change", () => field.form.requestSubmit());
}

function step(by) {
  const list = rows();
  const at = here();
  const open = list.findIndex((row) => row.getAttribute("aria-current"));
  const from = at >= 0 ? at : open >= 0 ? open : by > 0 ? -1 : list.length;
  const row = list[Math.min(Math.max(from + by, 0), list.length - 1)];
  row?.querySelector("[data-open]")?.focus();
}

const press = (key) => document.querySelector(`[data-key="${key}"]`);
const actions = {
  j: () => step(1),
  k: () => step(-1),
  x: () => rows()[here()]?.querySelector("[type=checkbox]")?.click(),
  e: () => open("e"),
  p: () => open("p"),
  Escape: () => press("Escape")?.click(),
  "?": () => document.getElementById("key-list").togglePopover(),
  "/": () => {
    const field = document.querySelector(".find [type=search]");
    if (field) field.select();
    else location.assign("/console/memory#find");
  },
};

// A button is pressed; a part that unfolds is opened, and its first field gets the focus.
function open(key) {
  const target = press(key);
  if (target?.tagName !== "SUMMARY") return target?.click();
  target.parentElement.open = true;
  target.parentElement.querySelector("textarea, input:not([type=hidden])")?.focus();
}

if (location.hash === "#find") actions["/"]();
// The row of the record that is open, or was, has the focus.
if (location.hash.startsWith("#r-")) document.getElementById(location.hash.slice(1))?.querySelector("[data-open]")?.focus();

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    return palette();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) && !(event.target.type === "checkbox")) return;
  if (document.querySelector("dialog[open], [popover]:popover-open") && event.key !== "?") return;
  const act = actions[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-palette]") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  palette();
});

// The palette: the directory as a dialog. What is typed is looked up among pages and in memory.
let dialog, waiting;

async function palette() {
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.className = "palette";
    dialog.setAttribute("aria-label", "Go to");
    dialog.innerHTML = '<form action="/console/go"><input type="search" name="query" autocomplete="off" placeholder="A page, a turn, a fact, a session, a person" aria-label="Go to a page, a turn, a fact, a session or a person"></form><div></div><p class="hint" role="status"></p>';
    document.body.append(dialog);
    const [form, list] = dialog.children;
    form.query.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 150); });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      await look();
      const [link] = list.querySelectorAll("a");
      if (link) location.assign(link.href);
    });
    dialog.addEventListener("keydown", move);
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  dialog.querySelector("input").value = "";
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("input").focus();
  await look();
}

async function look() {
  clearTimeout(waiting);
  const [form, list, status] = dialog.children;
  const query = form.query.value;
  const answer = await fetch(`/console/go?query=${encodeURIComponent(query)}`, { headers: { "HX-Request": "true" } });
  if (!answer.ok || form.query.value !== query) return;
  list.innerHTML = await answer.text();
  status.textContent = list.querySelector("a") ? "" : "Nothing has this name";
}

function move(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  const stops = [dialog.querySelector("input"), ...dialog.querySelectorAll("a")];
  stops[(stops.indexOf(document.activeElement) + by + stops.length) % stops.length].focus();
  event.preventDefault();
}
