"use strict";
/* The take as player.py packed it: differences along time, series after series, zlib, base64. */

async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function addUp(bytes, n) {
  const total = bytes.length / 2;
  const steps = new Int16Array(total);
  for (let start = 0; start < total; start += n) {
    let sum = 0;
    for (let t = start; t < start + n; t += 1) {
      sum = (sum + bytes[t] + (bytes[total + t] << 8)) & 0xffff;
      steps[t] = sum;
    }
  }
  return steps;
}

/* The take with its arrays; a coordinate c of series s at time t is at [(s * 3 + c) * n + t]. */
async function unpackTake(text) {
  const take = JSON.parse(text);
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old for the player; one made since 2023 will do");
  }
  const blocks = {};
  await Promise.all(Object.entries(take.blocks).map(async ([name, packed]) => {
    blocks[name] = await inflate(packed);
  }));
  take.position = addUp(blocks.position, take.n);
  take.raw = blocks.raw ? addUp(blocks.raw, take.n) : null;
  take.use = blocks.use || null;
  take.status = blocks.status;
  take.frameStatus = blocks.frame_status;
  delete take.blocks;
  return take;
}

function pointAt(take, steps, series, t) {
  return [0, 1, 2].map((c) => take.centre[c] + take.scale * steps[(series * 3 + c) * take.n + t]);
}

/* Everything that is to be seen at frame t. */
function frameAt(take, t) {
  const nJoints = take.joints.length;
  const joints = [];
  for (let j = 0; j < nJoints; j += 1) {
    const status = take.status[j * take.n + t];
    joints.push({ status, at: status ? pointAt(take, take.position, j, t) : null, off: NaN });
  }
  const seen = [];
  let squares = 0;
  let count = 0;
  for (let s = 0; s < take.sources.length; s += 1) {
    for (let j = 0; j < nJoints; j += 1) {
      const series = s * nJoints + j;
      const use = take.use[series * take.n + t];
      if (!use) continue;
      const at = pointAt(take, take.raw, series, t);
      seen.push({ source: s, joint: j, use, at });
      if (!joints[j].at || use === 1) continue;
      const off = Math.hypot(...at.map((v, c) => v - joints[j].at[c]));
      joints[j].off = Number.isNaN(joints[j].off) ? off : Math.max(off, joints[j].off);
      squares += off * off;
      count += 1;
    }
  }
  return { joints, seen, rms: count ? Math.sqrt(squares / count) : NaN, status: take.frameStatus[t] };
}
