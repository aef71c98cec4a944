// Keeps a page current: replaces its changing parts by those that the server drew. Forms and the focus stay.
"use strict";
(() => {
  const get = (id) => document.getElementById(id);
  let pressed = false, late = null, source = null;
  const isBusy = () => {
    const chosen = getSelection(), live = get("live");
    return pressed || (chosen && !chosen.isCollapsed && live.contains(chosen.anchorNode));
  };
  const replace = (place, html) => {
    if (!place || place.drawn === html) return;
    const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
    const open = [...place.querySelectorAll("details[open]")].map((one) => one.id);
    const scrolled = [...place.querySelectorAll("pre[id]")].map((one) =>
      [one.id, one.scrollTop, one.scrollTop + one.clientHeight >= one.scrollHeight - 4]);
    place.innerHTML = place.drawn = html;
    open.forEach((id) => { const one = id && get(id); if (one) one.open = true; });
    scrolled.forEach(([id, top, atEnd]) => { const one = get(id); if (one) one.scrollTop = atEnd ? one.scrollHeight : top; });
    if (focused) (get(focused) || get("main")).focus({ preventScroll: true });
  };
  const draw = (change) => {
    if (isBusy()) { late = change; return; }
    late = null;
    for (const id in change.parts) replace(get(id), change.parts[id]);
    if (change.title) document.title = change.title;
    if (get("icon").getAttribute("href") !== change.icon) get("icon").setAttribute("href", change.icon);
  };
  const settle = () => setTimeout(() => { pressed = false; if (late && !isBusy()) draw(late); }, 200);
  addEventListener("pointerdown", () => { pressed = true; });
  addEventListener("pointerup", settle);
  addEventListener("pointercancel", settle);
  document.addEventListener("selectionchange", () => { if (late) settle(); });

  // A hidden tab needs no connection: browsers open six at most.
  const follow = () => {
    if (document.hidden) { if (source) source.close(); source = null; return; }
    if (source && source.readyState !== EventSource.CLOSED) return;
    source = new EventSource(document.body.dataset.live);
    source.onopen = () => { get("reload").hidden = true; };
    source.onmessage = (event) => draw(JSON.parse(event.data));
    source.onerror = () => {
      get("reload").hidden = false;
      replace(get("state"), '<p class="notice">The page has lost its connection. If `hob page` has ended, run it again.</p>');
    };
  };
  document.addEventListener("visibilitychange", follow);
  follow();

  const form = get("form");
  if (!form) return;
  // Fields whose condition does not hold are not asked.
  const conditions = () => form.querySelectorAll("[data-if]").forEach((field) => {
    const of = [...form.querySelectorAll(`[name="${field.dataset.if}"]`)];
    const holder = of.length ? of[0].closest("[data-if]") : null;
    const values = of.filter((one) => !["radio", "checkbox"].includes(one.type) || one.checked).map((one) => one.value.trim());
    const isYes = ["yes", "no"].includes(field.dataset.is);
    field.hidden = Boolean(holder && holder.hidden) ||
      !values.some((value) => (isYes ? value.toLowerCase() : value) === field.dataset.is);
  });
  form.querySelectorAll(".condition").forEach((one) => { one.hidden = true; });
  let claimed = 0;
  form.addEventListener("input", (event) => {
    const other = /^o\d+$/.test(event.target.name) && get(`f${event.target.name.slice(1)}-other`);
    if (other && event.target.value) other.checked = true;
    conditions();
    if (Date.now() - claimed < 30000) return;
    claimed = Date.now();
    const fields = new URLSearchParams({ action: "claim", token: form.elements.token.value, question: form.elements.question.value });
    fetch("act", { method: "POST", body: fields }).catch(() => {});
  });
  conditions();
  if (get("problem")) get("problem").focus();
})();
