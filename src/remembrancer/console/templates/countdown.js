// Time that is left counts down. The server says how much there is; from then on only the time since matters, not anybody's clock.
const began = performance.now();

function show() {
  const passed = Math.floor((performance.now() - began) / 1000);
  for (const time of document.querySelectorAll("[data-left]")) {
    const left = Math.max(Number(time.dataset.left) - passed, 0);
    time.textContent = left ? `${Math.floor(left / 60)} min ${String(left % 60).padStart(2, "0")} s` : "over";
    time.classList.toggle("soon", left < 120);
    time.closest("tr").classList.toggle("over", left === 0);
  }
}

show();
setInterval(show, 1000);
