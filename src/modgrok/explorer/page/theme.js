// Light or dark: what was chosen with the button, otherwise what the system prefers. Runs before the first paint.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => localStorage.getItem("modgrok-theme");
  const apply = () => {
    root.dataset.theme = chosen() || (system.matches ? "dark" : "light");
    dispatchEvent(new Event("themechange"));
  };
  system.addEventListener("change", apply);
  apply();
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => { button.textContent = root.dataset.theme === "dark" ? "Light" : "Dark"; };
    button.title = "Change between light and dark";
    button.addEventListener("click", () => {
      localStorage.setItem("modgrok-theme", root.dataset.theme === "dark" ? "light" : "dark");
      apply();
    });
    addEventListener("themechange", label);
    label();
  });
})();
