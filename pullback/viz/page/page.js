// What the page does: choosing, folding, ways, keys, the pointer.

const began = performance.now();

function refresh(still = null) {
  const start = performance.now();
  rebuild(still);
  setHeat(byId("color").value);
  showScale();
  if (highlight) setPath(highlight.from, highlight.name);
  showTree();
  showCard();
  byId("status").textContent = `${counted(scene.vertices.length, "box").replace("boxs", "boxes")} for ${counted(nodes.length, "node")}`;
  document.body.dataset.layout = String(Math.round(performance.now() - start));
  paint();
}

// What the pointer has met is in sight: the picture stands still, or a double click would miss it.
function choose(vertex, move = "into sight") {
  chosen = { id: vertex ? vertex.id : null };
  showCard();
  markChosen();
  if (vertex && move) show(vertex, move === "near");
  paint();
}
function chooseNode(number) {
  reveal(number);
  refresh();
  choose(scene.at[number], "near");
  canvas.scrollIntoView({ block: "nearest" }); // in a narrow window lists stand below the picture
}
// A group that is open shows itself by its first box.
function chooseGroup(group) {
  if (groups.get(group.key) !== group) return chooseNode(group.members[0]); // of the other tree
  for (let outer = group.parent; outer; outer = outer.parent) outer.open = true;
  if (group.members.length > 1) group.open = false;
  refresh();
  canvas.scrollIntoView({ block: "nearest" });
  return choose(scene.at[group.members[0]], "near");
}
function toggle(group) {
  group.open = !group.open;
  const still = group.open ? `g${group.key}` : scene.at[group.members[0]].id;
  const inside = scene.byId.get(chosen.id);
  refresh(still);
  if (inside && !scene.byId.get(chosen.id)) choose(scene.at[inside.members[0]]);
}
function foldAround(vertex) {
  if (!vertex || vertex.kind === "result") return;
  const around = vertex.kind === "group" ? vertex.group.parent : isLeaf(vertex.node) ? null : [...vertex.node.groups].reverse().find((group) => group.open && group.members.length > 1);
  if (around) toggle(around);
}
function setAll(open) {
  for (const group of groups.values()) group.open = open;
  refresh();
  fit();
}

function setPath(members, name) {
  const { passed, shortest } = waysFrom(members);
  const steps = new Set();
  for (let i = 1; i < shortest.length; i += 1) {
    const to = scene.at[shortest[i]];
    steps.add(`${scene.before(shortest[i - 1], to).id} ${to.id}`);
  };
  const end = data.results.find((result) => result.node === shortest[shortest.length - 1]);
  if (end) steps.add(`${scene.at[end.node].id} r${data.results.indexOf(end)}`);
  highlight = { end, passed, shortest: new Set(shortest), steps, from: members, start: members.length, name };
}
// Whether the path that is lit up is that of the box which is chosen.
function isOwnPath() {
  const vertex = scene.byId.get(chosen.id);
  if (!highlight || !vertex) return false;
  const members = vertex.kind === "result" ? [vertex.result.node] : vertex.members;
  return members.length === highlight.from.length && members.every((number, i) => number === highlight.from[i]);
}
function togglePath() {
  const vertex = scene.byId.get(chosen.id);
  if (isOwnPath() || !vertex) highlight = null;
  else setPath(vertex.kind === "result" ? [vertex.result.node] : vertex.members, vertex.name);
  const [first, second] = highlight ? highlight.shortest : [];
  if (vertex && vertex.user && second !== undefined) choose(scene.before(first, scene.at[second])); // of a leaf's boxes, that on the path
  showCard();
  paint();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "light" : "dark";
  readColors();
  showScale();
  paint();
}
const otherTheme = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");

function step(key) {
  const vertex = scene.byId.get(chosen.id);
  if (!vertex) return choose(scene.layers[scene.layers.length - 1][0]);
  const across = (list) => list.filter(Boolean).sort((a, b) => Math.abs(a.x - vertex.x) - Math.abs(b.x - vertex.x))[0];
  let next;
  if (key === "ArrowUp") next = across(scene.arrows.filter((arrow) => arrow.to === vertex && !arrow.back).map((arrow) => arrow.from));
  else if (key === "ArrowDown") next = across(scene.arrows.filter((arrow) => arrow.from === vertex && !arrow.back).map((arrow) => arrow.to));
  else {
    const row = [...scene.layers[vertex.layer]].sort((a, b) => a.x - b.x);
    next = row[row.indexOf(vertex) + (key === "ArrowRight" ? 1 : -1)];
  }
  if (next) choose(next);
}

function openChosen() {
  const vertex = scene.byId.get(chosen.id);
  if (vertex && vertex.kind === "group") toggle(vertex.group);
}

function foldByNext(name = Object.keys(trees).find((other) => other !== byId("by").value)) {
  if (!name) return;
  byId("by").value = name;
  foldBy(name);
  openWhatFits();
  chosen = { id: null };
  highlight = null;
  refresh();
  fit();
}

function nextColor() {
  const menu = byId("color");
  menu.selectedIndex = (menu.selectedIndex + 1) % menu.options.length;
  colorAnew();
}
function colorAnew() {
  setHeat(byId("color").value);
  showScale();
  paint();
}

document.addEventListener("keydown", (event) => {
  if (byId("help").open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === byId("search")) {
    if (event.key === "Escape") { byId("search").value = ""; showFound(); canvas.focus(); }
    if (event.key === "Enter" && matches.length) {
      match = (match + (event.shiftKey ? matches.length - 1 : 1)) % matches.length;
      chooseNode(matches[match].number);
    }
    return;
  }
  if (event.key === "Enter" && event.target.closest("button, summary, select")) return; // pressed, not meant for the picture
  if (event.target.tagName === "SELECT") return;
  const actions = {
    "/": () => { byId("search").focus(); byId("search").select(); }, "?": showHelp, Enter: openChosen, f: () => foldAround(scene.byId.get(chosen.id)),
    F: () => setAll(false), E: () => setAll(true), p: togglePath, c: nextColor, b: () => foldByNext(), l: otherTheme, 0: fit, "+": () => zoomBy(1.3), "=": () => zoomBy(1.3), "-": () => zoomBy(1 / 1.3),
    Escape: () => { highlight = null; choose(null); },
  };
  const action = event.key.startsWith("Arrow") ? () => step(event.key) : actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

// One pointer drags the picture, two fingers zoom it too: what lies between them stays between them.
const pointers = new Map();
let dragged = false;
const between = () => {
  const [a, b = a] = pointers.values();
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.hypot(a.x - b.x, a.y - b.y) };
};
canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0 || pointers.size === 2) return;
  pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  dragged = pointers.size === 2;
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  const pointer = pointers.get(event.pointerId);
  if (!pointer) {
    const met = meets(event);
    if (met !== hovered) { hovered = met; canvas.style.cursor = met ? "pointer" : ""; paint(); }
    return;
  }
  if (!dragged && Math.hypot(event.clientX - pointer.x, event.clientY - pointer.y) < 4) return;
  const old = between();
  pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  const now = between();
  dragged = true;
  canvas.classList.add("moving");
  view.x -= (now.x - old.x) / view.zoom;
  view.y -= (now.y - old.y) / view.zoom;
  const area = canvas.getBoundingClientRect();
  if (old.apart > 0 && now.apart > 0) zoomBy(now.apart / old.apart, now.x - area.left, now.y - area.top);
  paint();
});
function release(event) {
  if (!pointers.delete(event.pointerId) || pointers.size) return;
  canvas.classList.remove("moving");
  if (dragged || event.type === "pointercancel") return;
  const met = meets(event);
  if (!met) highlight = null;
  choose(met, null);
}
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("dblclick", (event) => {
  const met = meets(event);
  if (met && met.kind === "group") toggle(met.group);
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const area = canvas.getBoundingClientRect();
  zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - area.left, event.clientY - area.top);
}, { passive: false });

byId("search").addEventListener("input", showFound);
byId("less").addEventListener("click", () => setAll(false));
byId("more").addEventListener("click", () => setAll(true));
byId("fit").addEventListener("click", fit);
byId("theme").addEventListener("click", otherTheme);
byId("keys").addEventListener("click", showHelp);
byId("by").addEventListener("change", () => foldByNext(byId("by").value));
byId("color").addEventListener("change", colorAnew);
byId("help").addEventListener("click", (event) => { if (event.target === byId("help")) byId("help").close(); }); // beside it
new ResizeObserver(paint).observe(canvas);

const known = { code: true, bytes: nodes.some((node) => node.saved.some((held) => held.bytes)), norm: nodes.some((node) => node.flow), forward: timeOf(nodes.keys(), 0) !== null, backward: timeOf(nodes.keys(), 1) !== null };
for (const [value, text] of Object.entries(PALETTES)) if (known[value]) byId("color").append(make("option", { value }, text));

const system = window.matchMedia("(prefers-color-scheme: dark)");
system.addEventListener("change", () => setTheme(system.matches ? "dark" : "light"));
setTheme(system.matches ? "dark" : "light");

// Paper is white, and has more dots than a screen.
let onScreen = null;
window.addEventListener("beforeprint", () => {
  onScreen = document.documentElement.dataset.theme;
  setTheme("light");
  colors.ground = "#fff";
  paintNow(Math.max(2, window.devicePixelRatio || 1));
});
window.addEventListener("afterprint", () => setTheme(onScreen));
for (const name of Object.keys(trees)) byId("by").append(make("option", { value: name }, name));
byId("by").parentElement.hidden = !trees.calls;
const boxes = openWhatFits();
if (trees.calls) { // the tree that shows more at once
  foldBy("calls");
  byId("by").value = "calls";
  if (openWhatFits() < boxes) {
    foldBy("code");
    byId("by").value = "code";
  }
}
showFacts();
showNotice();
showLeaves();
refresh();
fit();
paintNow();
// For scripts that drive the page: where the box of a node stands on the screen, and which boxes are on the path.
window.explorer = {
  lit: () => (highlight ? scene.vertices.filter((vertex) => onThePath(vertex) === 2).map((vertex) => vertex.name) : []),
  where(number) {
    const vertex = scene.at[number];
    const area = canvas.getBoundingClientRect();
    return [area.left + (vertex.x - view.x) * view.zoom, area.top + (vertex.y - view.y) * view.zoom];
  },
};
document.body.dataset.ready = String(Math.round(performance.now() - began));
