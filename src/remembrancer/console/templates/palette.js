// The command palette: / or Ctrl+K opens the directory of pages as a dialog. Without this script
// the link "Go to" in the menu opens the same list as a page.
const typing = (node) => node.closest("input, textarea, select, [contenteditable]");
let dialog;

async function open() {
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.className = "palette";
    dialog.setAttribute("aria-label", "Go to");
    const form = document.createElement("form");
    form.action = "/console/memory";
    const field = document.createElement("input");
    field.type = "search";
    field.name = "query";
    field.placeholder = "Go to a page, or search memory";
    field.setAttribute("aria-label", "Go to a page, or search memory");
    field.autocomplete = "off";
    const list = document.createElement("div");
    form.append(field);
    const nothing = document.createElement("p");
    nothing.className = "hint";
    nothing.setAttribute("role", "status");
    dialog.append(form, list, nothing);
    document.body.append(dialog);
    field.addEventListener("input", () => filter(list, field.value));
    form.addEventListener("submit", (event) => {
      const [link] = visible(list);
      if (!link || !field.value.trim()) return;
      event.preventDefault();
      location.assign(link.href);
    });
    dialog.addEventListener("keydown", (event) => move(event, field, list));
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    const answer = await fetch("/console/go", { headers: { "HX-Request": "true" } });
    if (answer.ok && answer.status === 200) list.innerHTML = await answer.text();
  }
  const [form, list] = dialog.children;
  form.firstChild.value = "";
  filter(list, "");
  if (!dialog.open) dialog.showModal();
  form.firstChild.focus();
}

const visible = (list) => [...list.querySelectorAll("li:not([hidden]) a")];

function filter(list, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const item of list.querySelectorAll("li")) {
    const own = item.textContent.toLowerCase();
    item.hidden = !words.every((word) => own.includes(word));
  }
  for (const group of list.querySelectorAll("ul")) {
    const empty = !group.querySelector("li:not([hidden])");
    group.hidden = empty;
    group.previousElementSibling.hidden = empty;
  }
  list.nextSibling.textContent = visible(list).length ? "" : "Enter searches the memory";
}

function move(event, field, list) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const stops = [field, ...visible(list)];
  const at = stops.indexOf(document.activeElement);
  stops[(at + step + stops.length) % stops.length].focus();
  event.preventDefault();
}

document.addEventListener("keydown", (event) => {
  const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !typing(event.target);
  const isCommand = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
  if (!isSlash && !isCommand) return;
  event.preventDefault();
  open();
});
