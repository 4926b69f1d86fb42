// The graph, the places in the program that made it, and which of these are open.

const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes;
const NOWHERE = "no line recorded";

const short = (file) => file.split(/[\\/]/).slice(-2).join("/");
const isLeaf = (node) => node.kind === "leaf";

nodes.forEach((node, number) => {
  node.number = number;
  node.from = node.from || [];
  node.saved = node.saved || [];
  node.to = [];
});
for (const node of nodes) for (const [source] of node.from) nodes[source].to.push(node.number);
for (const node of nodes) node.to = [...new Set(node.to)];

function stackOf(node) {
  return node.stack === undefined ? [] : data.stacks[node.stack][0].map((number) => data.frames[number]);
}
const frameOf = (node) => stackOf(node).at(-1);
const functionName = (name) => (name === "<module>" ? "top level" : `${name}()`);

// The path to a node through the code: file, function, line. Without lines, its name stands for them.
function pathByCode(node) {
  const frame = frameOf(node);
  if (!frame) return [{ part: NOWHERE, label: NOWHERE, where: "", level: "file" }, { part: node.name, label: node.name, where: "", level: "function", code: node.name }];
  const [file, line, name, text] = frame;
  const code = `${file}|${name}`;
  return [
    { part: file, label: short(file), where: file, level: "file" },
    { part: name, label: functionName(name), where: short(file), level: "function", code },
    { part: line, label: text || `line ${line}`, where: `${short(file)}:${line}`, level: "line", code },
  ];
}

// The path through the calls: each call of a function apart, from the innermost that all nodes share.
const calls = data.stacks.map(([, numbers]) => numbers);
let shared = calls.length ? calls[0].length : 0;
for (const numbers of calls) {
  let same = 0;
  while (same < shared && same < numbers.length && numbers[same] === calls[0][same]) same += 1;
  shared = same;
}
function pathByCall(node) {
  const numbers = node.stack === undefined ? [] : calls[node.stack];
  if (!numbers.length) return pathByCode(node);
  const stack = stackOf(node);
  const path = [];
  for (let depth = Math.max(0, shared - 1); depth < stack.length; depth += 1) {
    const [file, , name] = stack[depth];
    const caller = stack[depth - 1];
    path.push({ part: numbers[depth], label: functionName(name), where: caller ? `called at ${short(caller[0])}:${caller[1]}` : short(file), level: "call", code: `${file}|${name}` });
  }
  return [...path, pathByCode(node)[2]];
}

let groupsMade = 0;
// A tree of groups, each with the numbers of its nodes; a node's own groups, outermost first, stand in `of`.
function treeBy(pathTo) {
  const tree = { groups: new Map(), top: [], of: new Map(), parts: new Map() };
  const ofStack = new Map(); // nodes of one stack have the same groups
  for (const node of nodes) {
    if (isLeaf(node)) continue;
    let own = node.stack === undefined ? undefined : ofStack.get(node.stack);
    if (!own) {
      own = [];
      for (const { part, label, where, level, code } of pathTo(node)) {
        const parent = own.length ? own[own.length - 1] : null;
        const { parts } = parent || tree;
        const name = `${level} ${part}`; // calls have numbers, and lines too
        let group = parts.get(name);
        if (!group) {
          group = { key: String(groupsMade), label, where, level, code, parent, children: [], parts: new Map(), members: [], open: false, depth: own.length, order: Infinity };
          groupsMade += 1;
          parts.set(name, group);
          tree.groups.set(group.key, group);
          (parent ? parent.children : tree.top).push(group);
        }
        own.push(group);
      }
      if (node.stack !== undefined) ofStack.set(node.stack, own);
    }
    for (const group of own) {
      group.members.push(node.number);
      group.order = Math.min(group.order, node.nr);
    }
    tree.of.set(node, own);
  }
  const byOrder = (a, b) => a.order - b.order;
  for (const group of tree.groups.values()) group.children.sort(byOrder);
  tree.top.sort(byOrder);
  return tree;
}
const trees = { code: treeBy(pathByCode) };
if (calls.some((numbers) => numbers.length)) trees.calls = treeBy(pathByCall);
let { groups, top } = trees.code;
function foldBy(name) {
  ({ groups, top } = trees[name]);
  for (const [node, own] of trees[name].of) node.groups = own;
}
foldBy("code");

// Colors go by function, in the order in which the functions first ran.
const hues = new Map();
for (const tree of Object.values(trees)) {
  for (const { code } of [...tree.groups.values()].sort((a, b) => a.order - b.order)) {
    if (code !== undefined && !hues.has(code)) hues.set(code, (215 + hues.size * 137.508) % 360);
  }
}
function hueOf(group) {
  if (group.code !== undefined) return hues.get(group.code);
  return group.children.length === 1 ? hueOf(group.children[0]) : null;
}
const hueOfNode = (node) => hues.get(trees.code.of.get(node)[1].code);

// A leaf stands where it is first used.
for (const node of nodes) {
  if (isLeaf(node)) node.order = node.to.reduce((least, number) => Math.min(least, nodes[number].nr), Infinity) - 0.5;
  else node.order = node.nr;
}

// Opens what there is room for, each depth of the tree as a whole; what is alone is open. Returns the number of boxes.
const ROOM = 32;
function openWhatFits(room = ROOM) {
  for (const group of groups.values()) group.open = false;
  let boxes = visible().vertices.length;
  for (let depth = 0; ; depth += 1) {
    const opened = [...groups.values()].filter((group) => group.depth === depth && (!group.parent || group.parent.open));
    opened.forEach((group) => { group.open = true; });
    const more = opened.length ? visible().vertices.length : Infinity;
    if (more > room) {
      opened.forEach((group) => { group.open = false; });
      return boxes;
    }
    boxes = more;
  }
}

const resultName = (result, i) => `result${data.results.length === 1 ? "" : ` ${i}`}${result.name ? `: ${result.name}` : ""}`;

// What is drawn: a box for each closed group, open groups replaced by what is in them.
const MANY = 3; // boxes that use a leaf: beyond it stands beside each of them, so that no arrow crosses the picture
function visible() {
  const at = new Array(nodes.length);
  const vertices = new Map();
  const put = (id, make) => {
    let vertex = vertices.get(id);
    if (!vertex) vertices.set(id, vertex = { id, members: [], ...make() });
    return vertex;
  };
  const alone = (node) => ({ node, kind: node.kind, order: node.order });
  for (const node of nodes) {
    if (isLeaf(node)) continue;
    const group = node.groups.find((one) => !one.open);
    const single = !group || group.members.length === 1;
    at[node.number] = single
      ? put(`n${node.number}`, () => alone(node))
      : put(`g${group.key}`, () => ({ group, kind: "group", order: group.order }));
    at[node.number].members.push(node.number);
  }
  const copies = new Map();
  for (const node of nodes) {
    if (!isLeaf(node)) continue;
    const users = new Set(node.to.map((number) => at[number]));
    const [user] = users;
    if (users.size === 1 && user.kind === "group") { // a parameter of one closed group
      at[node.number] = user;
      user.members.push(node.number);
    } else if (users.size > MANY) {
      for (const one of users) {
        const copy = put(`n${node.number}@${one.id}`, () => ({ ...alone(node), order: one.order - 0.5, user: one, members: [node.number] }));
        copies.set(`${node.number}@${one.id}`, copy);
        if (one === user) at[node.number] = copy;
      }
    } else {
      at[node.number] = put(`n${node.number}`, () => alone(node));
      at[node.number].members.push(node.number);
    }
  }
  const before = (source, user) => copies.get(`${source}@${user.id}`) || at[source]; // the box that `user` gets it from
  data.results.forEach((result, i) => {
    put(`r${i}`, () => ({ result, kind: "result", order: Infinity, name: resultName(result, i) }));
  });
  const arrows = new Map();
  const draw = (from, to, output) => {
    if (from === to) return;
    const id = `${from.id} ${to.id}`;
    const arrow = arrows.get(id);
    if (arrow) arrow.count += 1;
    else arrows.set(id, { from, to, count: 1, output });
  };
  for (const node of nodes) {
    const to = at[node.number];
    for (const [source, output] of node.from) draw(before(source, to), to, nodes[source].outputs.length > 1 ? output : null);
  }
  data.results.forEach((result, i) => draw(at[result.node], vertices.get(`r${i}`), nodes[result.node].outputs.length > 1 ? result.output : null));
  return { vertices: [...vertices.values()], arrows: [...arrows.values()], at, before };
}

function reveal(number) {
  const node = nodes[number];
  const hidden = (one) => one.groups.forEach((group) => { group.open = true; });
  if (!isLeaf(node)) return hidden(node);
  const { at } = visible();
  if (at[number].kind === "group") hidden(nodes[node.to[0]]);
}

// Every node that the gradient of these passes on its path from the result, and the shortest of these paths.
function waysFrom(members) {
  const passed = new Set(members);
  const before = new Map();
  const queue = [...members];
  const ends = new Set(data.results.map((result) => result.node));
  let end = null;
  for (let i = 0; i < queue.length; i += 1) {
    const number = queue[i];
    if (end === null && ends.has(number)) end = number;
    for (const next of nodes[number].to) {
      if (passed.has(next)) continue;
      passed.add(next);
      before.set(next, number);
      queue.push(next);
    }
  }
  const shortest = [];
  for (let number = end; number !== null && number !== undefined; number = before.get(number)) shortest.push(number);
  return { passed, shortest: shortest.reverse() };
}

// Bytes that these nodes hold; memory that several share counts once, that of leaves not at all: it is there anyway.
function bytesHeld(numbers) {
  const seen = leafMemory();
  return numbers.reduce((sum, number) => sum + bytesBeside(seen, nodes[number]), 0);
}

// What a node holds beside the memory that was seen, which is then seen too.
function bytesBeside(seen, node) {
  let total = 0;
  for (const held of node.saved) {
    if (held.memory === undefined || seen.has(held.memory)) continue;
    seen.add(held.memory);
    total += held.whole;
  }
  return total;
}

function leafMemory() {
  return new Set(nodes.filter(isLeaf).map((leaf) => leaf.memory));
}

// For each node the bytes that no node before it holds: together they are what all hold.
function bytesOwned() {
  const seen = leafMemory();
  return new Map([...nodes].sort((a, b) => a.nr - b.nr).map((node) => [node.number, bytesBeside(seen, node)]));
}

function heldBy(group) {
  if (group.held === undefined) group.held = bytesHeld(group.members);
  return group.held;
}

function timeOf(numbers, which) {
  let total = null;
  for (const number of numbers) {
    const time = nodes[number].times && nodes[number].times[which];
    if (typeof time === "number") total = (total || 0) + time;
  }
  return total;
}

// The largest gradient that comes to one of these, what is not a number above all others.
function largestFlow(numbers) {
  let largest = null;
  for (const number of numbers) {
    const { flow } = nodes[number];
    if (!flow) continue;
    const norm = typeof flow.norm === "number" ? flow.norm : Infinity;
    if (largest === null || norm > largest) largest = norm;
  }
  return largest;
}
const sickly = (node) => node.flow && (node.flow.nan > 0 || node.flow.inf > 0);

const plain = (text) => text.toLowerCase().replace(/,\s+/g, ","); // so that a shape is one word, with or without spaces
function find(text) {
  const words = plain(text).split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const named = (node) => words.some((word) => node.name.toLowerCase().includes(word));
  const found = nodes.filter((node) => {
    if (node.searched === undefined) {
      const frame = frameOf(node);
      const outputs = node.outputs.map((output) => `${output.dtype} ${shapeText(output.shape)} ${output.name || ""}`);
      node.searched = plain([node.name, ...outputs, ...(frame ? [short(frame[0]), `${short(frame[0])}:${frame[1]}`, frame[2], frame[3]] : [])].join("\n"));
    }
    return words.every((word) => node.searched.includes(word));
  });
  const rank = (node) => (node.name.toLowerCase() === text.trim().toLowerCase() ? 0 : named(node) ? 1 : 2);
  return found.sort((a, b) => rank(a) - rank(b) || a.order - b.order); // by name before by line, then as the program ran
}

// -- texts ----------------------------------------------------------------------------------------------------
const shapeText = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
function bytesText(bytes) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024]]) {
    if (bytes >= size) return `${(bytes / size).toPrecision(3)} ${unit}`;
  }
  return `${bytes} B`;
}
function timeText(us) {
  if (us >= 1e6) return `${(us / 1e6).toPrecision(3)} s`;
  return us >= 1e3 ? `${(us / 1e3).toPrecision(3)} ms` : `${us.toPrecision(3)} µs`;
}
const numberText = (x) => (typeof x !== "number" ? x : x === 0 ? "0" : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(2) : x.toPrecision(4));
const counted = (count, thing) => `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;
