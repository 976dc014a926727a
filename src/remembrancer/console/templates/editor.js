// Code editor: Tab indents, Ctrl+Enter runs. After Escape, Tab moves the focus as usual.
for (const area of document.querySelectorAll("[data-editor]")) {
  let tabMovesFocus = false;
  const hint = document.getElementById(area.getAttribute("aria-describedby"));
  if (hint) hint.hidden = false;

  area.addEventListener("blur", () => { tabMovesFocus = false; });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { tabMovesFocus = true; return; }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      area.form.requestSubmit();
      return;
    }
    if (event.key !== "Tab" || tabMovesFocus || event.ctrlKey || event.altKey || event.metaKey) { if (event.key !== "Shift" && event.key !== "Tab") tabMovesFocus = false; return; }
    event.preventDefault();
    const { selectionStart: from, selectionEnd: to, value } = area;
    const first = value.lastIndexOf("\n", from - 1) + 1;
    if (event.shiftKey || from !== to) {
      const lines = value.slice(first, to).split("\n");
      const moved = lines.map((line) => (event.shiftKey ? line.replace(/^ {1,4}|^\t/, "") : line && `    ${line}`));
      area.setRangeText(moved.join("\n"), first, to, from === to ? "end" : "select");
    } else {
      area.setRangeText(" ".repeat(4 - ((from - first) % 4)), from, to, "end");
    }
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
}
