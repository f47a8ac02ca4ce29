/* A camera that goes round a target; y points up. */

class Camera {
  constructor(size) {
    this.size = size;
    this.target = [0, 0, 0];
    this.yaw = Math.PI;
    this.pitch = 0.12;
    this.zoom = 1;
    this.shift = [0, 0];
  }

  turn(yaw, pitch) {
    this.yaw += yaw;
    this.pitch = Math.min(Math.PI / 2, Math.max(-Math.PI / 2, this.pitch + pitch));
  }

  zoomBy(factor) {
    this.zoom = Math.min(20, Math.max(0.1, this.zoom * factor));
  }

  /* From world to canvas: x, y in pixels, depth towards the viewer, pixels per metre. */
  lens(width, height) {
    const [sinYaw, cosYaw] = [Math.sin(this.yaw), Math.cos(this.yaw)];
    const [sinPitch, cosPitch] = [Math.sin(this.pitch), Math.cos(this.pitch)];
    const away = 4 * this.size;
    const focal = ((0.74 * Math.min(height, width)) / this.size) * this.zoom * away;
    return ([px, py, pz]) => {
      const x = px - this.target[0];
      const y = py - this.target[1];
      const z = pz - this.target[2];
      const right = cosYaw * x - sinYaw * z;
      const near = sinYaw * x + cosYaw * z;
      const up = cosPitch * y - sinPitch * near;
      const depth = sinPitch * y + cosPitch * near;
      const scale = focal / Math.max(0.05 * away, away - depth);
      return {
        x: width / 2 + this.shift[0] + right * scale,
        y: height / 2 + this.shift[1] - up * scale,
        depth,
        scale,
        hidden: away - depth < 0.05 * away,
      };
    };
  }
}

/* Direction the person faces (yaw), from the joints that are left and right of each other. */
function facing(take, frame) {
  const left = [0, 0];
  for (const [l, r] of take.left_right) {
    const [a, b] = [frame.joints[l].at, frame.joints[r].at];
    if (!a || !b) continue;
    left[0] += a[0] - b[0];
    left[1] += a[2] - b[2];
  }
  // front = left x up; without a left, what a depth sensor sees: along its z
  return Math.hypot(...left) > 1e-3 ? Math.atan2(-left[1], left[0]) : Math.PI;
}

function middleOf(frame) {
  const given = frame.joints.filter((joint) => joint.at);
  if (!given.length) return null;
  return [0, 1, 2].map((c) => {
    const values = given.map((joint) => joint.at[c]);
    return (Math.min(...values) + Math.max(...values)) / 2;
  });
}
