// The panels beside the picture: figures, search, leaves, the program's tree, and the card of what is chosen.

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value;
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== "") element.append(child);
  return element;
}
const byId = (id) => document.getElementById(id);
const heading = (text, name = null, rest = "") => make("h3", {}, text, name === null ? null : make("span", { class: "name" }, name), rest); // names keep their case

function swatch(hue) {
  return make("i", { class: "swatch", style: hue === null ? "background: var(--quiet)" : `background: hsl(${hue} 60% var(--stripe))` });
}

function showFacts() {
  byId("title").textContent = data.title;
  document.title = data.title;
  const leaves = nodes.filter(isLeaf);
  const all = nodes.map((node) => node.number);
  const elements = leaves.reduce((sum, leaf) => sum + leaf.outputs[0].shape.reduce((a, b) => a * b, 1), 0);
  const facts = [
    [(nodes.length - leaves.length).toLocaleString("en"), nodes.length - leaves.length === 1 ? "operator" : "operators"],
    [leaves.length.toLocaleString("en"), `${leaves.length === 1 ? "leaf" : "leaves"} (${counted(elements, "number")})`],
    [bytesText(bytesHeld(all)), "held for backward"],
  ];
  const [forward, backward] = [timeOf(all, 0), timeOf(all, 1)];
  if (forward !== null) facts.push([timeText(forward), "forward"]);
  if (backward !== null) facts.push([timeText(backward), "backward"]);
  byId("facts").replaceChildren(...facts.map(([figure, what]) => make("li", {}, make("b", {}, figure), ` ${what}`)));
}

function showNotice() {
  const missing = [];
  const operators = nodes.filter((node) => !isLeaf(node));
  if (!operators.some((node) => node.stack !== undefined)) missing.push("no source lines were recorded, so folding is by operator: run the forward inside viz.recording()");
  if (!nodes.some((node) => node.flow)) missing.push("no gradients: run a backward inside viz.recording() before explore()");
  if (!missing.length) return;
  const text = missing.join("; ");
  byId("notice").replaceChildren(text[0].toUpperCase() + text.slice(1) + ".", make("button", { "aria-label": "close", onclick: () => { byId("notice").hidden = true; } }, "✕"));
  byId("notice").hidden = false;
}

function link(node, detail = null, name = node.name) {
  const hue = isLeaf(node) ? null : hueOfNode(node);
  const shown = detail === null ? shapeText(node.outputs[0].shape) : detail;
  return make("button", { class: "link", title: node.name, onclick: () => chooseNode(node.number) },
    isLeaf(node) ? make("i", { class: "swatch", style: "background: var(--leaf); border-radius: 9px" }) : swatch(hue),
    make("span", { class: "name" }, name), make("span", { class: "count" }, shown));
}

// A list of links, of which the first hundred are made.
function links(list, detail) {
  const rest = list.length - 100;
  return [...list.slice(0, 100).map((node) => link(node, detail ? detail(node) : null)), rest > 0 ? make("p", { class: "quiet" }, `and ${rest} more`) : null];
}

function showLeaves() {
  const leaves = nodes.filter(isLeaf).sort((a, b) => a.order - b.order);
  byId("leaves").replaceChildren(make("details", { open: leaves.length <= 12 },
    make("summary", { style: "cursor: pointer" }, make("h3", { style: "display: inline-block; margin-bottom: 4px" }, `Leaves · ${leaves.length}`)), ...links(leaves).filter(Boolean)),
    data.unused.length ? make("p", { class: "quiet" }, "Not in this graph, and without a gradient from it: ", ...data.unused.slice(0, 20).flatMap((name, i) => [i ? ", " : "", make("b", {}, name)]), data.unused.length > 20 ? ` and ${data.unused.length - 20} more` : "") : "");
}

// What scales of colors mean, under the picture.
function showScale() {
  const { ends } = scale;
  byId("scale").hidden = !ends;
  if (!ends) return;
  const which = byId("color").value;
  const text = { bytes: bytesText, norm: (x) => numberText(10 ** x), forward: timeText, backward: timeText }[which];
  const steps = [0, 0.25, 0.5, 0.75, 1].map((heat) => heatColor(heat)).join(", ");
  byId("scale").replaceChildren(`${PALETTES[which]} ${text(ends[0])} `, make("i", { style: `background: linear-gradient(to right, ${steps})` }), ` ${text(ends[1])}`,
    scene.vertices.some((vertex) => vertex.heat === 2) ? make("span", { class: "bad" }, " red: not finite") : "");
}

// The program's tree, of which so many rows are made in each group that a click stays quick; a button makes the rest.
const ROWS = 100;
const DEEP = 9; // beyond it rows are not moved further in: they say their depth
let rowOf = new Map();
function showTree() {
  const rows = [heading("Program")];
  const before = rowOf;
  rowOf = new Map();
  const add = (list, depth, parent) => {
    const shown = parent && parent.all ? list : list.slice(0, ROWS);
    for (const group of shown) walk(group, depth);
    const rest = list.length - shown.length;
    if (rest) rows.push(make("button", { class: "link quiet", style: `padding-left: ${24 + 14 * Math.min(depth, DEEP)}px`, onclick: () => { parent.all = true; showTree(); rowOf.get(list[ROWS].key).querySelector("button").focus(); } }, `and ${rest.toLocaleString("en")} more`));
  };
  const walk = (group, depth) => {
    const held = heldBy(group);
    const count = [group.members.length, held ? bytesText(held) : ""].filter(Boolean).join(" · ");
    const mayOpen = group.members.length > 1 || group.children.length > 0;
    const row = make("div", { class: "row", style: `padding-left: ${6 + 14 * Math.min(depth, DEEP)}px` },
      mayOpen ? make("button", { class: "caret", "aria-expanded": String(group.open), "aria-label": `${group.open ? "close" : "open"} ${group.label}`, onclick: () => toggle(group) }, group.open ? "▾" : "▸") : make("span", { class: "caret" }),
      depth > DEEP ? make("span", { class: "count", title: `depth ${depth}` }, depth) : null,
      swatch(hueOf(group)),
      make("button", { class: `link name${group.level === "line" ? " code" : ""}`, style: "padding: 0", title: `${group.label}\n${group.where}`, onclick: () => chooseGroup(group) }, make("span", { class: "name" }, group.label)),
      make("span", { class: "count" }, count));
    rows.push(row);
    rowOf.set(group.key, row);
    if (group.open) add(group.children, depth + 1, group);
  };
  add(top, 0, trees[byId("by").value]);
  const key = [...before].find(([, row]) => row.contains(document.activeElement));
  const part = key && document.activeElement.classList[0];
  byId("tree").replaceChildren(...rows);
  const now = key && rowOf.get(key[0]);
  if (now) now.querySelector(`.${part}`).focus(); // the button that was pressed is a new one
  markChosen();
}

// The row of what is chosen, or of the innermost group around it, in sight.
function markChosen() {
  for (const row of byId("tree").querySelectorAll(".chosen")) row.classList.remove("chosen");
  const vertex = scene.byId.get(chosen.id);
  const own = !vertex ? [] : vertex.kind === "group" ? [vertex.group] : vertex.node && !isLeaf(vertex.node) ? vertex.node.groups : [];
  const row = own.map((group) => rowOf.get(group.key)).filter(Boolean).at(-1);
  if (!row) return;
  row.classList.add("chosen");
  const [here, all] = [row.getBoundingClientRect(), byId("left").getBoundingClientRect()];
  if (here.height && (here.top < all.top || here.bottom > all.bottom)) byId("left").scrollTop += here.top - all.top - all.height / 2;
}

let matches = [];
let match = -1;
function showFound() {
  const text = byId("search").value;
  matches = find(text);
  match = -1;
  byId("found").hidden = !text.trim();
  byId("found").replaceChildren(heading(matches.length ? `${counted(matches.length, "match").replace("matchs", "matches")} · enter: next` : "nothing found"), ...links(matches).filter(Boolean));
  byId("leaves").hidden = byId("tree").hidden = Boolean(text.trim());
}

// -- the card -------------------------------------------------------------------------------------------------
function flowParts(flow, whose) {
  const share = (count) => (flow.size ? (100 * count) / flow.size : 0);
  const percent = (count) => `${share(count) > 0 && share(count) < 0.1 ? "<0.1" : share(count).toFixed(share(count) % 1 ? 1 : 0)} %`;
  const rest = flow.size - flow.nan - flow.inf - flow.zero;
  const bar = make("div", { class: "bar" }, [[flow.nan + flow.inf, "--bad"], [flow.zero, "--edge"], [rest, "--leaf"]]
    .filter(([count]) => count).map(([count, color]) => make("i", { style: `flex: ${count} 0 0; background: var(${color})` })));
  const row = (name, value, bad = false) => make("tr", {}, make("td", {}, name), make("td", { class: `number${bad ? " bad" : ""}` }, value));
  return [heading(whose), make("table", {},
    row("norm", numberText(flow.norm), typeof flow.norm !== "number"),
    row("NaN", `${percent(flow.nan)}`, flow.nan > 0),
    flow.inf ? row("infinite", percent(flow.inf), true) : null,
    row("zeros", percent(flow.zero)),
    row("entries", flow.size.toLocaleString("en"))), bar];
}

function ruleParts(node) {
  if (node.rule === undefined) return [];
  const [where, text] = data.rules[node.rule];
  const block = make("pre", { class: "rule" });
  for (const line of text.split("\n")) {
    const entry = /^(\s*(?:- )?)([\w, ]+)(:)(.*)$/.exec(line);
    if (/^\s*#/.test(line)) block.append(make("span", { class: "remark" }, line), "\n");
    else if (entry && where.endsWith(".yaml")) block.append(entry[1], make("span", { class: "what" }, entry[2] + entry[3]), entry[4], "\n");
    else block.append(line, "\n");
  }
  return [heading("Rule · ", where), block];
}

function savedParts(node) {
  if (!node.saved.length) return [];
  const users = (held) => nodes.filter((other) => other !== node && other.saved.some((one) => one.memory === held.memory)).length;
  const rows = node.saved.map((held) => {
    const remarks = [];
    if (held.memory !== undefined) {
      const shared = users(held);
      if (shared) remarks.push(`shared with ${counted(shared, "node")}`);
      if (leafMemory().has(held.memory)) remarks.push("a leaf's, not counted");
      if (held.whole > held.bytes) remarks.push(`keeps ${bytesText(held.whole)} alive`);
    }
    return make("tr", {}, make("td", {}, make("code", {}, held.name), make("br"), make("span", { class: "quiet" }, held.text, remarks.length ? ` · ${remarks.join(" · ")}` : "")),
      make("td", { class: "number" }, held.memory === undefined ? "" : bytesText(held.bytes)));
  });
  const total = bytesHeld([node.number]);
  return [heading(`Saved for backward${total ? ` · ${bytesText(total)}` : ""}`), make("table", {}, ...rows)];
}

function sourceParts(node) {
  if (node.stack === undefined) return isLeaf(node) ? [] : [heading("Source"), make("p", { class: "quiet" }, "No line was recorded: make the graph inside viz.recording().")];
  const stack = stackOf(node);
  const [file, line, name, code] = stack[stack.length - 1];
  const outer = stack.slice(0, -1).reverse();
  return [heading("Source"), make("div", {}, make("span", { title: file }, `${short(file)}:${line}`), ` in ${name}`), code ? make("pre", {}, code) : null,
    outer.length ? make("details", {}, make("summary", { class: "quiet" }, `called by ${counted(outer.length, "frame")}`),
      ...outer.map((frame) => make("div", {}, make("span", { class: "quiet", title: frame[0] }, `${short(frame[0])}:${frame[1]} in ${frame[2]}`), frame[3] ? make("pre", {}, frame[3]) : null))) : null];
}

function timeParts(numbers) {
  const [forward, backward] = [timeOf(numbers, 0), timeOf(numbers, 1)];
  if (forward === null && backward === null) return [];
  const row = (name, time) => (time === null ? null : make("tr", {}, make("td", {}, name), make("td", { class: "number" }, timeText(time))));
  return [heading("Time"), make("table", {}, row("forward", forward), row("backward", backward))];
}

// The norms along the shortest path: where a gradient vanishes or explodes shows at a glance.
function pathParts() {
  if (!highlight) return [];
  const path = [...highlight.shortest];
  const parts = [isOwnPath() ? heading("Path to the result") : heading("Path of ", highlight.name, " to the result"), make("p", { style: "margin: 0 0 4px" }, `Its gradient passes ${counted(highlight.passed.size - highlight.start, "node")}; the shortest path has ${counted(path.length - 1, "step")}.`)];
  const norms = path.map((number) => nodes[number].flow && nodes[number].flow.norm);
  const known = norms.filter((norm) => typeof norm === "number" && norm > 0).map(Math.log10);
  if (known.length > 1) {
    const [least, most] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "spark");
    svg.setAttribute("viewBox", "0 0 100 40");
    svg.setAttribute("preserveAspectRatio", "none");
    const width = 100 / norms.length;
    norms.forEach((norm, i) => {
      if (norm === undefined || norm === null) return;
      const bad = typeof norm !== "number";
      const height = bad ? 40 : norm === 0 ? 0.5 : 4 + (34 * (Math.log10(norm) - least)) / (most - least || 1);
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      for (const [name, value] of Object.entries({ x: i * width, y: 40 - height, width: Math.max(width * 0.8, 0.15), height, fill: `var(${bad ? "--bad" : "--accent"})` })) bar.setAttribute(name, value);
      svg.append(bar);
    });
    parts.push(make("div", { class: "quiet" }, `norm of the gradient on the path, ${numberText(10 ** least)} to ${numberText(10 ** most)}`), svg);
  }
  return [...parts, make("details", {}, make("summary", { class: "quiet" }, "the steps"), ...links(path.map((number) => nodes[number]), (node) => (node.flow ? numberText(node.flow.norm) : "")))];
}

function pathButton() {
  return make("button", { onclick: () => togglePath() }, isOwnPath() ? "hide the path (p)" : "path to the result (p)");
}

function nodeCard(node) {
  const result = data.results.some((one) => one.node === node.number);
  const outputs = node.outputs.map((output, i) => make("tr", {}, make("td", {}, output.name ? make("b", {}, `${output.name}: `) : null, `${output.dtype} ${shapeText(output.shape)}`, node.outputs.length > 1 ? make("span", { class: "quiet" }, ` output ${i}`) : null),
    make("td", { class: "number" }, output.bytes === undefined ? "" : bytesText(output.bytes))));
  const kinds = { leaf: "a leaf: gradients are added to its .grad", custom: "a custom Function", operator: "an operator's node" };
  const open = isLeaf(node) ? null : [...node.groups].reverse().find((group) => group.open && group.members.length > 1);
  return [
    make("h2", {}, node.name), make("div", { class: "quiet" }, kinds[node.kind], result ? ", whose result is the graph's" : ""),
    make("div", { class: "buttons" }, pathButton(), open ? make("button", { onclick: () => toggle(open) }, `fold the ${open.level} (f)`) : null),
    ...pathParts(),
    heading(isLeaf(node) ? "Shape" : "Result"), make("table", {}, ...outputs),
    ...(node.flow ? flowParts(node.flow, isLeaf(node) ? "Its .grad" : "Gradient that came in") : []),
    ...ruleParts(node), ...savedParts(node), ...timeParts([node.number]), ...sourceParts(node),
    node.from.length ? heading("Computed from") : null, ...links(node.from.map(([source]) => nodes[source])),
    node.to.length ? heading("Used by") : null, ...links(node.to.map((number) => nodes[number])),
  ];
}

function groupCard(vertex) {
  const { group } = vertex;
  const counts = new Map();
  for (const number of group.members) counts.set(nodes[number].name, (counts.get(nodes[number].name) || 0) + 1);
  const names = [...counts].sort((a, b) => b[1] - a[1]);
  const largest = largestFlow(group.members);
  const sick = group.members.map((number) => nodes[number]).filter(sickly);
  const most = group.members.map((number) => nodes[number]).sort((a, b) => bytesHeld([b.number]) - bytesHeld([a.number])).filter((node) => bytesHeld([node.number]) > 0).slice(0, 5);
  return [
    make("h2", { class: group.level === "line" ? "code" : null }, group.label), make("div", { class: "quiet" }, group.where),
    make("div", { class: "buttons" }, make("button", { onclick: () => toggle(group) }, group.open ? "close (f)" : "open (enter)"), pathButton()),
    ...pathParts(),
    heading("Inside"), make("table", {},
      make("tr", {}, make("td", {}, "nodes"), make("td", { class: "number" }, group.members.length.toLocaleString("en"))),
      make("tr", {}, make("td", {}, "held for backward"), make("td", { class: "number" }, bytesText(bytesHeld(group.members)))),
      largest === null ? null : make("tr", {}, make("td", {}, "largest gradient"), make("td", { class: `number${Number.isFinite(largest) ? "" : " bad"}` }, Number.isFinite(largest) ? numberText(largest) : "not finite"))),
    sick.length ? heading("NaN or infinity came to") : null, ...links(sick),
    ...timeParts(group.members),
    heading("Operators"), make("table", {}, ...names.slice(0, 20).map(([name, count]) => make("tr", {}, make("td", {}, name), make("td", { class: "number" }, count.toLocaleString("en"))))),
    most.length ? heading("Holds most") : null, ...links(most, (node) => bytesText(bytesHeld([node.number]))),
  ];
}

function overviewCard() {
  const lines = [...trees.code.groups.values()].filter((group) => group.level === "line" || (group.level === "function" && !group.children.length));
  const owned = bytesOwned();
  const most = lines.map((group) => [group, group.members.reduce((sum, number) => sum + owned.get(number), 0)]).filter(([, bytes]) => bytes).sort((a, b) => b[1] - a[1]).slice(0, 6);
  const sick = nodes.filter(sickly);
  return [
    make("h2", {}, data.title),
    make("p", { class: "quiet hint" }, "Values flow down, from leaves to the result; gradients flow up. Click a box for its card; double-click a group to open it. ", make("kbd", {}, "?"), " lists the keys."),
    sick.length ? heading(`NaN or infinity came to ${counted(sick.length, "node")}, first to`) : null, ...links(sick.sort((a, b) => b.order - a.order)).slice(0, 8),
    most.length ? heading("Lines that hold most") : null,
    ...most.map(([group, bytes]) => make("button", { class: "link", title: group.where, onclick: () => chooseGroup(group) }, swatch(hueOf(group)), make("span", { class: "name code" }, group.label), make("span", { class: "count" }, bytesText(bytes)))),
    heading("Results"), ...data.results.slice(0, 100).map((result, i) => link(nodes[result.node], shapeText(result.shape), resultName(result, i))),
    data.results.length > 100 ? make("p", { class: "quiet" }, `and ${data.results.length - 100} more`) : null,
  ];
}

function showCard() {
  const vertex = scene.byId.get(chosen.id);
  const parts = !vertex ? overviewCard() : vertex.kind === "group" ? groupCard(vertex) : nodeCard(vertex.kind === "result" ? nodes[vertex.result.node] : vertex.node);
  const card = byId("card");
  const inside = card.contains(document.activeElement) && [...card.querySelectorAll(".buttons button")].indexOf(document.activeElement);
  card.replaceChildren(...parts.flat().filter((part) => part !== null && part !== undefined));
  card.scrollTop = 0;
  if (inside === false) return;
  (card.querySelectorAll(".buttons button")[inside] || card).focus(); // what was pressed is gone, or a new button
}

const KEYS = [
  ["↑ ↓", "to what it was computed from, to what uses it"], ["← →", "to the next box of the layer"],
  ["enter", "open a group"], ["f", "fold the line, function or file that the box is in"],
  ["shift+e", "open everything"], ["shift+f", "close every file"], ["p", "the path to the result"],
  ["/", "search; enter goes from match to match"], ["b", "fold by calls, or by lines of code"], ["c", "the next coloring"], ["l", "light or dark"],
  ["+ − 0", "nearer, farther, all of it"], ["esc", "choose nothing"],
];
function showHelp() {
  byId("help").replaceChildren(make("button", { class: "close", "aria-label": "close", onclick: () => byId("help").close() }, "✕"), make("h2", {}, "Keys"), make("table", {}, ...KEYS.map(([keys, what]) => make("tr", {}, make("td", { style: "white-space: nowrap" }, ...keys.split(" ").map((key) => make("kbd", {}, key)).flatMap((key) => [key, " "])), make("td", {}, what)))),
    make("p", { class: "quiet" }, "The wheel or two fingers zoom, dragging moves. Dashed arrows go back to code that runs again: a loop. A red dot: NaN or infinity came to the node in backward."));
  byId("help").showModal();
}
