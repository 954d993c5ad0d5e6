// Light or dark: what was chosen with the button, otherwise what the system prefers. Runs before the first paint.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = (action) => { try { return action(localStorage); } catch { return null; } };  // where nothing may be kept, nothing is
  const chosen = () => kept((storage) => storage.getItem("modgrok-theme"));
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
      const other = root.dataset.theme === "dark" ? "light" : "dark";
      kept((storage) => storage.setItem("modgrok-theme", other));
      root.dataset.theme = other;
      dispatchEvent(new Event("themechange"));
    });
    addEventListener("themechange", label);
    label();
  });
})();
