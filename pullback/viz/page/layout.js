// Layers from the leaves down to the result. Sugiyama's steps: loops turned round, layers by the longest path, few
// crossings by barycenters, places by least squares that keep the order (pool adjacent violators).

const GAP_X = 22;
const LIGHT = 0.05; // what a leaf's arrow pulls: leaves stand beside the path, and do not bend it
const GAP_Y = 44;
const FAR = 40; // layers that an arrow may cross with a bend in each
const BENDS = 12000; // of these at most

function layOut(vertices, arrows, room) {
  const sorted = [...vertices].sort((a, b) => a.order - b.order);
  sorted.forEach((vertex, i) => { vertex.index = i; });
  const count = sorted.length;
  const after = Array.from({ length: count }, () => []);
  const before = Array.from({ length: count }, () => []);
  for (const arrow of arrows) {
    // Code that runs again makes loops between its groups: an arrow against the order of first runs goes back.
    arrow.back = arrow.from.index > arrow.to.index;
    const [a, b] = arrow.back ? [arrow.to.index, arrow.from.index] : [arrow.from.index, arrow.to.index];
    arrow.ends = [a, b];
    after[a].push(b);
    before[b].push(a);
  }
  const layer = new Array(count).fill(0);
  for (let i = 0; i < count; i += 1) for (const next of after[i]) layer[next] = Math.max(layer[next], layer[i] + 1);
  // What leads from leaves to one place alone (a parameter, x @ W in a loop) goes down to where it is used.
  const leaf = sorted.map((vertex) => vertex.kind === "leaf");
  const movable = [];
  for (let i = 0; i < count; i += 1) movable.push(before[i].every((k) => leaf[k] || (movable[k] && after[k].length === 1)));
  for (let i = count - 1; i >= 0; i -= 1) {
    if (movable[i] && after[i].length) layer[i] = after[i].reduce((least, next) => Math.min(least, layer[next]), Infinity) - 1;
  }
  const depth = layer.reduce((most, l) => Math.max(most, l), 0) + 1;

  // Boxes, and bends where arrows cross layers.
  const at = [...layer];
  const width = sorted.map((vertex) => vertex.w);
  const up = Array.from({ length: count }, () => []);
  const down = Array.from({ length: count }, () => []);
  let bends = 0;
  for (const arrow of arrows) {
    const [a, b] = arrow.ends;
    const span = layer[b] - layer[a];
    arrow.chain = [a];
    if (span > 1 && span <= FAR && bends + span <= BENDS) {
      for (let l = layer[a] + 1; l < layer[b]; l += 1) {
        arrow.chain.push(at.length);
        at.push(l);
        width.push(6);
        up.push([]);
        down.push([]);
        bends += 1;
      }
    }
    arrow.chain.push(b);
    if (span > FAR || (span > 1 && arrow.chain.length === 2)) continue; // drawn over what is between, in no layer's order
    for (let i = 1; i < arrow.chain.length; i += 1) {
      down[arrow.chain[i - 1]].push(arrow.chain[i]);
      up[arrow.chain[i]].push(arrow.chain[i - 1]);
    }
  }
  const layers = Array.from({ length: depth }, () => []);
  at.forEach((l, i) => layers[l].push(i));

  const place = new Array(at.length).fill(0);
  const number = (row) => row.forEach((i, j) => { place[i] = j; });
  layers.forEach(number);
  const sweep = (row, near) => {
    if (row.length < 2) return;
    const mean = new Map(row.map((i) => [i, near[i].length ? near[i].reduce((sum, k) => sum + place[k], 0) / near[i].length : place[i]]));
    row.sort((a, b) => mean.get(a) - mean.get(b));
    number(row);
  };
  for (let round = 0; round < 6; round += 1) {
    for (let l = 1; l < depth; l += 1) sweep(layers[l], up);
    for (let l = depth - 2; l >= 0; l -= 1) sweep(layers[l], down);
  }
  for (let l = 1; l < depth; l += 1) sweep(layers[l], up);

  const x = new Array(at.length).fill(0);
  for (const row of layers) {
    let right = 0;
    for (const i of row) { x[i] = right + width[i] / 2; right += width[i] + GAP_X; }
    for (const i of row) x[i] -= (right - GAP_X) / 2;
  }
  const pull = at.map((_, i) => (i >= count ? 8 : leaf[i] ? LIGHT : 1)); // bends: long arrows should be straight
  const both = up.map((near, i) => near.concat(down[i]));
  for (let round = 0; round < 6; round += 1) {
    for (let l = 1; l < depth; l += 1) settle(layers[l], round < 5 ? up : both, x, width, pull);
    for (let l = depth - 2; l >= 0; l -= 1) settle(layers[l], round < 5 ? down : both, x, width, pull);
  }

  straighten(layers, x);

  const y = [];
  const tops = [];
  const shift = new Array(at.length).fill(0);
  let height = 0;
  for (const row of layers) {
    const tallest = row.reduce((most, i) => (i < count ? Math.max(most, sorted[i].h) : most), 0);
    const tall = stack(row, x, width, shift, tallest);
    tops.push(height);
    y.push(height + tall / 2);
    height += tall + GAP_Y;
  }
  let left = Infinity;
  let right = -Infinity;
  for (let i = 0; i < at.length; i += 1) {
    left = Math.min(left, x[i] - width[i] / 2);
    right = Math.max(right, x[i] + width[i] / 2);
  }
  const columns = wrap(y, tops, height, right - left, room);
  const point = (i) => ({ x: x[i] - left + columns.x[at[i]], y: columns.y[at[i]] + shift[i], column: columns.of[at[i]] });
  sorted.forEach((vertex, i) => Object.assign(vertex, point(i), { layer: at[i] }));
  for (const arrow of arrows) {
    arrow.points = arrow.chain.map(point);
    if (arrow.back) arrow.points.reverse();
  }
  return { width: columns.width, height: columns.height, step: columns.step, layers: layers.map((row) => row.filter((i) => i < count).map((i) => sorted[i])) };
}

// Moves a layer's boxes to the mean of their neighbours, as far as their order and widths allow.
function settle(row, near, x, width, pull) {
  const blocks = []; // neighbours that touch: [weighted sum, weight, boxes]
  const offsets = [];
  let offset = 0;
  row.forEach((i, j) => {
    if (j) offset += (width[row[j - 1]] + width[i]) / 2 + GAP_X * (pull[i] < 8 || pull[row[j - 1]] < 8 ? 1 : 0.5);
    offsets.push(offset);
    let sum = 0;
    let weight = 0;
    for (const k of near[i]) {
      const strong = Math.min(pull[i], pull[k]);
      sum += strong * x[k];
      weight += strong;
    }
    const wanted = weight ? sum / weight : x[i];
    const firm = weight || LIGHT;
    blocks.push([(wanted - offset) * firm, firm, 1]);
    while (blocks.length > 1) {
      const last = blocks[blocks.length - 1];
      const previous = blocks[blocks.length - 2];
      if (previous[0] / previous[1] <= last[0] / last[1]) break;
      blocks.pop();
      previous[0] += last[0]; previous[1] += last[1]; previous[2] += last[2];
    }
  });
  let j = 0;
  for (const [sum, weight, members] of blocks) {
    for (let k = 0; k < members; k += 1, j += 1) x[row[j]] = sum / weight + offsets[j];
  }
}

// A layer of a thousand boxes is set in rows; returns its height.
const WIDE = 6000;
function stack(row, x, width, shift, tallest) {
  const wide = row.length ? x[row[row.length - 1]] - x[row[0]] : 0;
  if (wide <= WIDE) return tallest;
  const step = tallest + GAP_X;
  const rows = Math.ceil(wide / Math.max(WIDE / 2, Math.sqrt(1.6 * wide * step)));
  const each = Math.ceil(row.length / rows);
  for (let r = 0; r < rows; r += 1) {
    const boxes = row.slice(r * each, (r + 1) * each);
    const total = boxes.reduce((sum, i) => sum + width[i] + GAP_X, -GAP_X);
    let left = -total / 2;
    for (const i of boxes) {
      x[i] = left + width[i] / 2;
      left += width[i] + GAP_X;
      shift[i] = (r - (rows - 1) / 2) * step;
    }
  }
  return rows * step - GAP_X;
}

// Takes out what a deep picture leans to one side: each layer moves by the mean of the layers around it.
const AROUND = 15;
function straighten(layers, x) {
  const sums = [0];
  const counts = [0];
  layers.forEach((row, l) => {
    sums.push(sums[l] + row.reduce((sum, i) => sum + x[i], 0));
    counts.push(counts[l] + row.length);
  });
  if (layers.length <= 2 * AROUND) return;
  layers.forEach((row, l) => {
    const [first, last] = [Math.max(0, l - AROUND), Math.min(layers.length, l + AROUND + 1)];
    const mean = (sums[last] - sums[first]) / (counts[last] - counts[first]);
    for (const i of row) x[i] -= mean;
  });
}

// A picture that is long for the room is set in columns, like text: as many as make it clearly larger.
function wrap(y, tops, height, width, room) {
  const step = width + 90;
  const zoom = (columns) => Math.min(1, room.width / (step * columns), room.height / (height / columns + 60));
  const most = Math.max(1, Math.min(Math.floor(y.length / 6), 400));
  let best = 0;
  for (let columns = 1; columns <= most; columns += 1) best = Math.max(best, zoom(columns));
  let count = 1;
  while (zoom(count) < 0.85 * best) count += 1;
  const tall = height / count;
  const of = [];
  const start = [];
  y.forEach((middle, l) => {
    const column = Math.min(count - 1, Math.floor(middle / tall));
    if (start[column] === undefined) start[column] = tops[l];
    of.push(column);
  });
  return {
    of, step, x: of.map((column) => column * step), y: y.map((middle, l) => middle - start[of[l]] + 10),
    width: step * count - 90, height: tall + 60,
  };
}
