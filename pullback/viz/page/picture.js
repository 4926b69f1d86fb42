// The canvas: what is visible of the graph, drawn at the present zoom, and what the pointer meets there.

const canvas = document.getElementById("picture");
const pen = canvas.getContext("2d");
const FONT = 'system-ui, "Segoe UI", "Helvetica Neue", "Liberation Sans", Arial, sans-serif';
const view = { x: 0, y: 0, zoom: 1 };
let scene = { vertices: [], arrows: [], width: 1, height: 1, layers: [], byId: new Map() };
let highlight = null; // {passed: Set of nodes, shortest: Set of nodes, from: vertex ids}
let colors = {};

const measured = new Map();
function widthOf(text, font) {
  const key = font + text;
  let width = measured.get(key);
  if (width === undefined) {
    pen.font = font;
    measured.set(key, width = pen.measureText(text).width);
  }
  return width;
}
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…` : text);
const NAME = `600 13px ${FONT}`;
const DETAIL = `11px ${FONT}`;
const CODE = '11px ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace';

// Name, lines below it, and size of a box.
function describe(vertex) {
  if (vertex.kind === "result") {
    vertex.name = cut(vertex.name, 40);
    vertex.lines = [`${vertex.result.dtype} ${shapeText(vertex.result.shape)}`];
  } else if (vertex.kind === "group") {
    const { group } = vertex;
    const held = heldBy(group);
    vertex.name = cut(group.label, 46);
    vertex.lines = [[group.where && cut(group.where, 40), counted(group.members.length, "node"), held ? bytesText(held) : ""].filter(Boolean).join(" · ")];
  } else {
    const { node } = vertex;
    vertex.name = cut(node.name, 40);
    vertex.lines = node.outputs.slice(0, 3).map((output) => `${output.name ? `${output.name}: ` : ""}${output.dtype} ${shapeText(output.shape)}`);
    if (node.outputs.length > 3) vertex.lines.push(`and ${node.outputs.length - 3} outputs more`);
  }
  vertex.nameFont = vertex.kind === "group" && vertex.group.level === "line" && vertex.group.label !== vertex.group.where ? `600 ${CODE.replace("11px", "12px")}` : NAME;
  const widths = [widthOf(vertex.name, vertex.nameFont), ...vertex.lines.map((line) => widthOf(line, DETAIL))];
  vertex.w = Math.ceil(Math.max(70, ...widths) + 30);
  vertex.h = 25 + 15 * vertex.lines.length;
}

const PALETTES = {
  code: "function",
  bytes: "memory held",
  norm: "gradient norm",
  forward: "forward time",
  backward: "backward time",
};
function valueOf(vertex, which) {
  if (vertex.kind === "result") return null;
  if (which === "bytes") return bytesHeld(vertex.members) || null;
  if (which === "norm") return largestFlow(vertex.members);
  return timeOf(vertex.members, which === "forward" ? 0 : 1);
}

// What the colors of the boxes mean at their ends; nothing where they tell functions.
const scale = { ends: null };

// A share of the scale, 0 to 1: sizes and times linear, gradients by powers of ten; 2 for what is no number.
function setHeat(which) {
  if (which === "code") {
    for (const vertex of scene.vertices) vertex.heat = undefined;
    scale.ends = null;
    return;
  }
  const values = scene.vertices.map((vertex) => valueOf(vertex, which));
  const measure = which === "norm" ? Math.log10 : (x) => x;
  const known = values.filter((x) => x !== null && Number.isFinite(x) && (which !== "norm" || x > 0)).map(measure);
  const most = known.reduce((a, b) => Math.max(a, b), -Infinity);
  const least = which === "norm" ? known.reduce((a, b) => Math.min(a, b), Infinity) : 0;
  scale.ends = known.length ? [least, most] : null;
  scene.vertices.forEach((vertex, i) => {
    const value = values[i];
    if (value === null) vertex.heat = null;
    else if (!Number.isFinite(value)) vertex.heat = 2;
    else vertex.heat = which === "norm" && value === 0 ? 0 : (measure(value) - least) / (most - least || 1);
  });
}

function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ground", "ink", "quiet", "accent", "box", "edge", "leaf", "result", "bad", "line", "stripe", "tint"]) {
    colors[name] = style.getPropertyValue(`--${name}`).trim();
  }
  colors.ring = `color-mix(in srgb, ${colors.accent} 30%, transparent)`;
  colors.dark = document.documentElement.dataset.theme === "dark";
}

function heatColor(heat) {
  return `hsl(${55 - 40 * heat} ${40 + 45 * heat}% ${colors.dark ? 20 + 24 * heat : 96 - 42 * heat}%)`;
}

function paintOf(vertex) {
  if (vertex.heat !== undefined) {
    if (vertex.heat === null) return { fill: colors.box, stripe: colors.line, border: colors.line };
    if (vertex.heat === 2) return { fill: colors.bad, stripe: colors.bad, border: colors.bad, ink: "#fff" };
    const hue = 55 - 40 * vertex.heat;
    return { ink: colors.ink, fill: heatColor(vertex.heat), stripe: `hsl(${hue} 85% ${colors.dark ? 60 : 45}%)`, border: `hsl(${hue} 55% ${colors.dark ? 45 : 55}%)` };
  }
  if (vertex.kind === "leaf") return { fill: colors.box, stripe: colors.leaf, border: colors.leaf };
  if (vertex.kind === "result") return { fill: colors.box, stripe: colors.result, border: colors.result };
  const hue = vertex.kind === "group" ? hueOf(vertex.group) : hueOfNode(vertex.node);
  if (hue === null) return { fill: colors.box, stripe: colors.quiet, border: colors.line };
  return {
    fill: `hsl(${hue} ${colors.dark ? 28 : 60}% ${vertex.kind === "group" ? colors.tint : colors.dark ? "15%" : "98%"})`,
    stripe: `hsl(${hue} 60% ${colors.stripe})`,
    border: `hsl(${hue} ${colors.dark ? 25 : 35}% ${colors.dark ? "36%" : "78%"})`,
  };
}

const onThePathOf = (vertex) => (vertex.members.some((number) => highlight.passed.has(number)) ? 1 : 0);
function onThePath(vertex) {
  if (!highlight) return 1;
  if (vertex.kind === "result") return highlight.end === vertex.result ? 2 : Number(highlight.passed.has(vertex.result.node));
  if (vertex.user) return highlight.steps.has(`${vertex.id} ${vertex.user.id}`) ? 2 : onThePathOf(vertex);
  if (vertex.members.some((number) => highlight.shortest.has(number))) return 2;
  return onThePathOf(vertex);
}

function box(x, y, w, h, r) {
  pen.beginPath();
  pen.roundRect(x, y, w, h, r);
}

function paintVertex(vertex, chosen, hovered) {
  const paint = paintOf(vertex);
  const { w, h } = vertex;
  const x = vertex.x - w / 2;
  const y = vertex.y - h / 2;
  const path = onThePath(vertex);
  pen.globalAlpha = path ? 1 : 0.22;
  const round = vertex.kind === "leaf" || vertex.kind === "result" ? h / 2 : 7;
  if (view.zoom < 0.3) { // too small for texts
    pen.fillStyle = vertex.heat === undefined || vertex.heat === 2 ? paint.stripe : paint.fill;
    pen.fillRect(x, y, w, h);
  } else {
    if (vertex.kind === "group") { // a group
      pen.fillStyle = paint.fill;
      pen.strokeStyle = paint.border;
      pen.lineWidth = 1;
      for (const shift of [6, 3]) { box(x + shift, y + shift, w, h, round); pen.fill(); pen.stroke(); }
    }
    box(x, y, w, h, round);
    pen.fillStyle = paint.fill;
    pen.fill();
    if (vertex.kind !== "leaf" && vertex.kind !== "result") {
      pen.save();
      pen.clip();
      pen.fillStyle = paint.stripe;
      pen.fillRect(x, y, 5, h);
      pen.restore();
    }
    pen.lineWidth = vertex.kind === "leaf" || vertex.kind === "result" ? 1.6 : 1;
    pen.strokeStyle = hovered ? colors.quiet : paint.border;
    box(x, y, w, h, round);
    pen.stroke();
  }
  if (chosen) { // a ring of its own, that is seen on a path too
    pen.lineWidth = Math.max(9, 6 / view.zoom);
    pen.strokeStyle = colors.ring;
    box(x - 4, y - 4, w + 8, h + 8, round + 4);
    pen.stroke();
  }
  if (chosen || (highlight && path === 2)) {
    pen.lineWidth = Math.max(2.5, 2 / view.zoom);
    pen.strokeStyle = colors.accent;
    box(x - 2, y - 2, w + 4, h + 4, round + 2);
    pen.stroke();
  }
  if (view.zoom > 0.3) {
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillStyle = paint.ink || colors.ink;
    pen.font = vertex.nameFont;
    pen.fillText(vertex.name, vertex.x + 2, y + 15);
    if (view.zoom > 0.45) {
      pen.font = DETAIL;
      pen.fillStyle = paint.ink || colors.quiet;
      vertex.lines.forEach((line, i) => pen.fillText(line, vertex.x + 2, y + 30 + 15 * i));
    }
  }
  if (vertex.sick) { // NaN or infinity came by
    pen.fillStyle = colors.bad;
    pen.beginPath();
    pen.arc(x + w - 3, y + 3, 6, 0, 7);
    pen.fill();
  }
  pen.globalAlpha = 1;
}

function tracePath(points) {
  const [first] = points;
  const last = points[points.length - 1];
  const start = { x: first.x, y: first.y };
  const end = { x: last.x, y: last.y };
  pen.beginPath();
  pen.moveTo(start.x, start.y);
  for (let i = 1; i < points.length; i += 1) {
    const a = points[i - 1];
    const b = points[i];
    if (a.column !== b.column) { // to the top of the next column, between the columns
      const side = b.column > a.column ? 1 : -1;
      const lane = Math.max(a.column, b.column) * scene.step - 45;
      const near = Math.abs(a.column - b.column) === 1;
      const [out, into] = [a.y + 34, b.y - 34];
      if (near) {
        pen.lineTo(a.x, out - 12);
        pen.quadraticCurveTo(a.x, out, a.x + 12 * side, out);
        pen.lineTo(lane - 12 * side, out);
        pen.quadraticCurveTo(lane, out, lane, out + (into > out ? 12 : -12));
        pen.lineTo(lane, into + (into > out ? -12 : 12));
        pen.quadraticCurveTo(lane, into, lane + 12 * side, into);
        pen.lineTo(b.x - 12 * side, into);
        pen.quadraticCurveTo(b.x, into, b.x, into + 12);
        pen.lineTo(b.x, b.y);
      } else pen.bezierCurveTo(a.x, a.y + 80, b.x, b.y - 80, b.x, b.y);
      continue;
    }
    const middle = (a.y + b.y) / 2;
    pen.bezierCurveTo(a.x, middle, b.x, middle, b.x, b.y);
  }
}

function paintArrow(arrow) {
  const [from, to] = [arrow.from, arrow.to];
  const points = arrow.points.map((point) => ({ ...point }));
  const tail = points[0];
  const head = points[points.length - 1];
  const down = head.y >= tail.y || tail.column !== head.column;
  tail.y += (down ? from.h / 2 : -from.h / 2);
  head.y += (down ? -to.h / 2 : to.h / 2);
  const lit = highlight && onThePath(from) === 2 && onThePath(to) === 2 && highlight.steps.has(`${from.id} ${to.id}`);
  const path = highlight ? (lit ? 2 : Math.min(onThePath(from), onThePath(to))) : 1;
  pen.globalAlpha = path ? 1 : 0.15;
  pen.strokeStyle = path === 2 && highlight ? colors.accent : colors.edge;
  pen.lineWidth = Math.max((lit ? 2.6 : 1.1) + Math.min(3, Math.log2(arrow.count) * 0.6), (lit ? 1.6 : 0.5) / view.zoom);
  if (arrow.back) pen.setLineDash([6, 4]);
  const far = points.length === 2 && Math.abs(from.layer - to.layer) > 1 && !arrow.back;
  if (arrow.back || (arrow.points.length === 2 && to.layer < from.layer)) { // round the boxes, upward
    const side = Math.max(from.x + from.w / 2, to.x + to.w / 2) + 30;
    pen.beginPath();
    pen.moveTo(from.x + from.w / 2, from.y);
    pen.bezierCurveTo(side + 30, from.y, side + 30, to.y, to.x + to.w / 2, to.y);
  } else {
    if (far && path < 2) pen.globalAlpha *= 0.45;
    tracePath(points);
  }
  pen.stroke();
  pen.setLineDash([]);
  if (view.zoom > 0.3) {
    const size = 5 + pen.lineWidth;
    pen.fillStyle = pen.strokeStyle;
    pen.beginPath();
    if (arrow.back) {
      const x = to.x + to.w / 2;
      pen.moveTo(x, to.y); pen.lineTo(x + size * 1.4, to.y - size * 0.6); pen.lineTo(x + size * 1.4, to.y + size * 0.6);
    } else {
      const turn = down ? 1 : -1;
      pen.moveTo(head.x, head.y); pen.lineTo(head.x - size * 0.6, head.y - turn * size * 1.4); pen.lineTo(head.x + size * 0.6, head.y - turn * size * 1.4);
    }
    pen.fill();
    if (view.zoom > 0.5 && (arrow.count > 1 || arrow.output !== null)) {
      const text = arrow.count > 1 ? `×${arrow.count}` : `output ${arrow.output}`;
      pen.font = DETAIL;
      pen.fillStyle = colors.quiet;
      pen.textAlign = "left";
      pen.fillText(text, head.x + 7, head.y - 17);
    }
  }
  pen.globalAlpha = 1;
}

function inView(left, topmost, right, bottom) {
  const w = canvas.clientWidth / view.zoom;
  const h = canvas.clientHeight / view.zoom;
  return right > view.x && left < view.x + w && bottom > view.y && topmost < view.y + h;
}

let asked = false;
function paint() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; paintNow(); });
}
function paintNow(ratio = window.devicePixelRatio || 1) {
  const [w, h] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = colors.ground;
  pen.fillRect(0, 0, w, h);
  pen.setTransform(ratio * view.zoom, 0, 0, ratio * view.zoom, -view.x * view.zoom * ratio, -view.y * view.zoom * ratio);
  const lit = [];
  for (const arrow of scene.arrows) {
    const { bounds } = arrow;
    if (!inView(bounds[0], bounds[1], bounds[2], bounds[3])) continue;
    if (highlight && highlight.steps.has(`${arrow.from.id} ${arrow.to.id}`)) lit.push(arrow);
    else paintArrow(arrow);
  }
  lit.forEach(paintArrow);
  for (const vertex of scene.vertices) {
    if (inView(vertex.x - vertex.w / 2 - 8, vertex.y - vertex.h / 2 - 8, vertex.x + vertex.w / 2 + 8, vertex.y + vertex.h / 2 + 8)) {
      paintVertex(vertex, vertex.id === chosen.id, vertex === hovered);
    }
  }
}

let hovered = null;
let chosen = { id: null };

function meets(event) {
  const area = canvas.getBoundingClientRect();
  const x = (event.clientX - area.left) / view.zoom + view.x;
  const y = (event.clientY - area.top) / view.zoom + view.y;
  for (let i = scene.vertices.length - 1; i >= 0; i -= 1) {
    const vertex = scene.vertices[i];
    if (Math.abs(x - vertex.x) <= vertex.w / 2 && Math.abs(y - vertex.y) <= vertex.h / 2) return vertex;
  }
  return null;
}

function fit() {
  const zoom = Math.min(1.15, (canvas.clientWidth - 50) / scene.width, (canvas.clientHeight - 90) / scene.height);
  view.zoom = Math.max(0.004, zoom);
  view.x = scene.width / 2 - canvas.clientWidth / view.zoom / 2;
  view.y = scene.height / 2 - canvas.clientHeight / view.zoom / 2 + 5 / view.zoom;
  paint();
}

function zoomBy(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const zoom = Math.min(4, Math.max(0.004, view.zoom * factor));
  view.x += x / view.zoom - x / zoom;
  view.y += y / view.zoom - y / zoom;
  view.zoom = zoom;
  paint();
}

// Brings a box into view, and near enough to be read if that is asked for. What can be read already stands still.
function show(vertex, near = false) {
  const far = near && view.zoom < 0.6;
  if (far) view.zoom = 0.9;
  const margin = 40 / view.zoom;
  const [w, h] = [canvas.clientWidth / view.zoom, canvas.clientHeight / view.zoom];
  const inside = vertex.x > view.x + margin && vertex.x < view.x + w - margin && vertex.y > view.y + margin && vertex.y < view.y + h - margin;
  if (far || !inside) {
    view.x = vertex.x - w / 2;
    view.y = vertex.y - h / 2;
  }
  paint();
}

// Lays out what is visible now. What `still` names keeps its place on the screen.
function rebuild(still = null) {
  const old = still && scene.byId.get(still);
  const { vertices, arrows, at, before } = visible();
  vertices.forEach(describe);
  for (const vertex of vertices) vertex.sick = vertex.members.some((number) => sickly(nodes[number]));
  const layout = layOut(vertices, arrows, { width: canvas.clientWidth - 50, height: canvas.clientHeight - 90 });
  for (const arrow of arrows) {
    const xs = arrow.points.map((point) => point.x);
    const ys = arrow.points.map((point) => point.y);
    arrow.bounds = [Math.min(...xs) - 60, Math.min(...ys) - 60, Math.max(...xs) + (arrow.back ? 260 : 60), Math.max(...ys) + 60];
  }
  scene = { vertices, arrows, at, before, ...layout, byId: new Map(vertices.map((vertex) => [vertex.id, vertex])) };
  const now = old && (scene.byId.get(still) || (old.members.length && at[old.members[0]]));
  if (now) {
    view.x += now.x - old.x;
    view.y += now.y - old.y;
  }
}
