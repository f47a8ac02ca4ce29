/* Draws one frame. Colours come from the style sheet, so light, dark and print are its matter. */

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const named = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: named("ink"), muted: named("muted"), grid: named("line"), stage: named("stage"),
    sources: [0, 1, 2, 3, 4, 5].map((s) => named(`s${s}`)),
    ramp: [0, 1, 2, 3, 4, 5, 6].map((k) => named(`h${k}`)),
    status: [named("absent"), named("all"), named("carried"), named("interpolated")],
  };
}

/* The signs of the sources: disc, square, triangle, diamond, triangle down, bar. */
function sign(context, shape, x, y, r) {
  const corners = [
    null,
    [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    [[0, -1.1], [1.05, 0.85], [-1.05, 0.85]],
    [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
    [[0, 1.1], [1.05, -0.85], [-1.05, -0.85]],
    [[-0.4, -1.1], [0.4, -1.1], [0.4, 1.1], [-0.4, 1.1]],
  ][shape % 6];
  context.beginPath();
  if (!corners) context.arc(x, y, r, 0, 2 * Math.PI);
  else corners.forEach(([u, v], i) => context[i ? "lineTo" : "moveTo"](x + u * r, y + v * r));
  context.closePath();
}

function drawFloor(context, lens, colours, floor, around) {
  const step = 0.5;
  const reach = 3;
  const x0 = Math.round(around[0] / step) * step;
  const z0 = Math.round(around[2] / step) * step;
  context.strokeStyle = colours.grid;
  context.lineWidth = 1;
  for (let d = -reach; d <= reach + 1e-9; d += step) {
    const fade = 1 - Math.abs(d) / (reach + step);
    for (const ends of [
      [[x0 + d, floor, z0 - reach], [x0 + d, floor, z0 + reach]],
      [[x0 - reach, floor, z0 + d], [x0 + reach, floor, z0 + d]],
    ]) {
      const [a, b] = ends.map(lens);
      if (a.hidden || b.hidden) continue;
      context.globalAlpha = 0.9 * fade;
      context.beginPath();
      context.moveTo(a.x, a.y);
      context.lineTo(b.x, b.y);
      context.stroke();
    }
  }
  context.globalAlpha = 1;
}

function drawAxes(context, camera, colours, height, turn) {
  const [sinYaw, cosYaw] = [Math.sin(camera.yaw), Math.cos(camera.yaw)];
  const [sinPitch, cosPitch] = [Math.sin(camera.pitch), Math.cos(camera.pitch)];
  const [x0, y0, length] = [38, height - 38, 22];
  const shown = [[cosYaw, -sinPitch * sinYaw], [0, cosPitch], [-sinYaw, -sinPitch * cosYaw]];
  context.strokeStyle = colours.muted;
  context.fillStyle = colours.muted;
  context.lineWidth = 1.5;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const [axis, name] of ["x", "y", "z"].entries()) {
    // the axes of the file, as `turn` has laid them
    const [u, v] = [0, 1].map((side) => shown.reduce((sum, to, i) => sum + turn[i][axis] * to[side], 0));
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x0 + length * u, y0 - length * v);
    context.stroke();
    if (Math.hypot(u, v) > 0.25) context.fillText(name, x0 + (length + 9) * u, y0 - (length + 9) * v);
  }
}

function drawFrame(context, width, height, take, frame, camera, colours, options) {
  const lens = camera.lens(width, height);
  context.clearRect(0, 0, width, height);
  if (take.floor !== null) drawFloor(context, lens, colours, take.floor, camera.target);
  drawAxes(context, camera, colours, height, take.turn);
  const placed = frame.joints.map((joint) => (joint.at ? lens(joint.at) : null));
  const things = [];
  const unit = Math.min(1.4, Math.max(0.7, Math.min(width, height) / 480)) * Math.min(1.6, Math.max(0.6, camera.zoom ** 0.5));
  take.links.forEach(([a, b], k) => {
    const [p, q] = [placed[a], placed[b]];
    if (!p || !q || p.hidden || q.hidden) return;
    things.push({ depth: (p.depth + q.depth) / 2, draw() {
      context.strokeStyle = colours.ink;
      context.lineWidth = (k < take.n_bones ? 3.2 : 1.5) * unit;
      context.lineCap = "round";
      context.setLineDash(k < take.n_bones ? [] : [4, 4]);
      context.beginPath();
      context.moveTo(p.x, p.y);
      context.lineTo(q.x, q.y);
      context.stroke();
      context.setLineDash([]);
    } });
  });
  placed.forEach((p, j) => {
    if (!p || p.hidden) return;
    const joint = frame.joints[j];
    const share = Number.isNaN(joint.off) ? 0 : Math.min(1, joint.off / take.far_m);
    const level = Math.min(colours.ramp.length - 1, Math.floor(share * colours.ramp.length));
    const byResidual = options.colour === "residual";
    things.push({ depth: p.depth + 0.01 * camera.size, draw() {
      sign(context, [0, 0, 1, 3][joint.status], p.x, p.y, (4.2 + (byResidual ? 3.6 * share : 0)) * unit);
      if (!byResidual) context.fillStyle = colours.status[joint.status];
      else context.fillStyle = Number.isNaN(joint.off) ? colours.stage : colours.ramp[level];
      context.fill();
      context.strokeStyle = colours.ink;
      context.lineWidth = 1.1;
      context.stroke();
    } });
  });
  for (const dot of frame.seen) {
    if (!options.sources[dot.source]) continue;
    const p = lens(dot.at);
    if (p.hidden) continue;
    const home = options.links ? placed[dot.joint] : null;
    things.push({ depth: p.depth, draw() {
      const colour = colours.sources[dot.source % 6];
      context.strokeStyle = colour;
      if (home) {
        context.globalAlpha = 0.55;
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(p.x, p.y);
        context.lineTo(home.x, home.y);
        context.stroke();
        context.globalAlpha = 1;
      }
      sign(context, dot.source, p.x, p.y, 3.3 * unit);
      context.lineWidth = 1.3;
      context.fillStyle = dot.use === 3 ? colour : colours.stage;
      context.fill();
      context.stroke();
    } });
  }
  things.sort((a, b) => a.depth - b.depth);
  for (const thing of things) thing.draw();
  if (options.names) drawNames(context, take, placed, colours);
}

function drawNames(context, take, placed, colours) {
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  const taken = [];
  placed.forEach((p, j) => {
    if (!p || p.hidden) return;
    const name = take.joints[j].length > 24 ? `${take.joints[j].slice(0, 23)}…` : take.joints[j];
    const box = { x: p.x + 9, y: p.y - 7, w: context.measureText(name).width, h: 14 };
    // a name that would cover another is left out; turning the view brings it back
    if (taken.some((o) => box.x < o.x + o.w && o.x < box.x + box.w && box.y < o.y + o.h && o.y < box.y + box.h)) return;
    taken.push(box);
    context.strokeStyle = colours.stage;
    context.lineWidth = 3;
    context.strokeText(name, box.x, p.y);
    context.fillStyle = colours.ink;
    context.fillText(name, box.x, p.y);
  });
}
