// Countdowns. They start from the server's remaining time and use a monotonic clock.
const start = performance.now();

function show() {
  const elapsed = Math.floor((performance.now() - start) / 1000);
  for (const time of document.querySelectorAll("[data-left]")) {
    const left = Math.max(Number(time.dataset.left) - elapsed, 0);
    time.textContent = left ? `${Math.floor(left / 60)} min ${String(left % 60).padStart(2, "0")} s` : "expired";
    time.classList.toggle("soon", left < 120);
    time.closest("tr").classList.toggle("over", left === 0);
  }
}

show();
setInterval(show, 1000);
