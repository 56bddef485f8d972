"use strict";
// In the head, so that the page never flashes in the wrong colours.
(() => {
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");

  function remembered() {
    try { return localStorage.getItem("afcm-theme"); } catch { return null; } // storage may be off, or denied to files
  }

  function remember(theme) {
    try { localStorage.setItem("afcm-theme", theme); } catch { /* then for this visit only */ }
  }

  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);

  function tell() {
    document.getElementById("theme").setAttribute("aria-pressed", String(isDark()));
    document.dispatchEvent(new Event("theme"));
  }

  function toggle() {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    tell();
  }

  const theme = remembered();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", toggle);
    systemDark.addEventListener("change", tell);
    tell();
  });
})();
