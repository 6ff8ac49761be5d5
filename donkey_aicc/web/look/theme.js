// Light for the sun, dark for the evening: as the device says, until the button is pressed.

export function themeButton(button) {
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const stored = read();
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("aicc-theme", root.dataset.theme); } catch { /* a browser without storage: this page only */ }
    label();
    dispatchEvent(new Event("resize"));
  });
  label();
}

function read() {
  try { return localStorage.getItem("aicc-theme"); } catch { return null; }
}
