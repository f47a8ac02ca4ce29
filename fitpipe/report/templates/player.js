/* The player: time, view, and the controls around the stage. */

const FRAME_WORDS = ["no data", "certified", "stationary", "stalled", "iteration limit", "compromise"];
const STATUS_WORDS = [null, ["●", "observed"], ["■", "carried by bones"], ["◆", "interpolated"]];

class Player {
  constructor(take, onFrame) {
    this.take = take;
    this.onFrame = onFrame;
    this.canvas = document.getElementById("stage");
    this.context = this.canvas.getContext("2d");
    this.readout = document.getElementById("readout");
    this.scrub = document.getElementById("scrub");
    this.playButton = document.getElementById("play");
    this.camera = new Camera(take.size);
    this.options = { colour: "residual", sources: take.sources.map(() => true), links: true, names: false };
    this.frame = 0;
    this.playing = false;
    this.waiting = false;
    this.colours = readColours();
    this.scrub.max = String(take.n - 1);
    this.seek(0);
    this.resetView();
  }

  /* -- time ------------------------------------------------------------- */
  seek(frame) {
    this.frame = Math.min(this.take.n - 1, Math.max(0, Math.round(frame)));
    this.clock = this.take.time[this.frame];
    this.now = frameAt(this.take, this.frame);
    this.scrub.value = String(this.frame);
    const number = this.frame * this.take.stride;
    const time = (this.take.start + this.clock).toFixed(2);
    this.scrub.setAttribute("aria-valuetext", `frame ${number}, ${time} seconds`);
    const rms = Number.isNaN(this.now.rms) ? "" : ` · rms ${(1e3 * this.now.rms).toFixed(0)} mm`;
    this.readout.textContent = `frame ${number.toLocaleString("en")} · ${time} s\n${FRAME_WORDS[this.now.status]}${rms}`;
    this.onFrame(number);
    this.redraw();
  }

  play(on) {
    this.playing = on && this.take.n > 1;
    if (this.playing && this.frame === this.take.n - 1) this.seek(0);
    this.playButton.firstElementChild.textContent = this.playing ? "❚❚" : "▶";
    this.playButton.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.last = null;
    if (this.playing) requestAnimationFrame((stamp) => this.tick(stamp));
  }

  tick(stamp) {
    if (!this.playing) return;
    if (this.last !== null) {
      this.clock += ((stamp - this.last) / 1e3) * Number(document.getElementById("speed").value);
      const { time } = this.take;
      if (this.clock > time[time.length - 1]) this.seek(0);
      else {
        let next = this.frame;
        while (next + 1 < time.length && time[next + 1] <= this.clock) next += 1;
        if (next !== this.frame) {
          const { clock } = this;
          this.seek(next);
          this.clock = clock;
        }
      }
    }
    this.last = stamp;
    requestAnimationFrame((later) => this.tick(later));
  }

  nextWorst() {
    const { worst } = this.take;
    if (!worst.length) return;
    const now = worst.findIndex((moment) => moment.at === this.frame);
    this.play(false);
    this.seek(worst[(now + 1) % worst.length].at);
  }

  /* -- view ------------------------------------------------------------- */
  resetView() {
    const shown = middleOf(this.now) ? this.now : frameAt(this.take, Math.floor((this.take.n - 1) / 2));
    Object.assign(this.camera, { yaw: facing(this.take, shown) - 0.6, pitch: 0.15, zoom: 1, shift: [0, 0] });
    this.camera.target = middleOf(shown) || this.take.centre;
  }

  view(name) {
    if (name === "reset") this.resetView();
    else {
      const front = facing(this.take, this.now);
      this.camera.yaw = name === "side" ? front + Math.PI / 2 : front;
      this.camera.pitch = name === "top" ? Math.PI / 2 : 0;
    }
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (document.getElementById("follow").checked) this.camera.target = middleOf(this.now) || this.camera.target;
    drawFrame(this.context, width, height, this.take, this.now, this.camera, this.colours, this.options);
  }

  /* -- controls --------------------------------------------------------- */
  connect() {
    const on = (id, event, act) => document.getElementById(id).addEventListener(event, act);
    on("play", "click", () => this.play(!this.playing));
    on("step-back", "click", () => { this.play(false); this.seek(this.frame - 1); });
    on("step-on", "click", () => { this.play(false); this.seek(this.frame + 1); });
    on("scrub", "input", () => { this.play(false); this.seek(Number(this.scrub.value)); });
    on("follow", "change", () => this.redraw());
    on("names", "change", (event) => { this.options.names = event.target.checked; this.redraw(); });
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => this.view(button.dataset.view));
    }
    for (const radio of document.querySelectorAll("[name=colour]")) {
      radio.addEventListener("change", () => { this.options.colour = radio.value; this.showKey(); this.redraw(); });
    }
    for (const box of document.querySelectorAll("[data-source]")) {
      box.addEventListener("change", () => { this.options.sources[Number(box.dataset.source)] = box.checked; this.redraw(); });
    }
    const links = document.getElementById("show-links");
    if (links) links.addEventListener("change", () => { this.options.links = links.checked; this.redraw(); });
    this.connectPointer();
    document.addEventListener("keydown", (event) => this.key(event));
    const recolour = () => { this.colours = readColours(); this.draw(); };
    for (const media of ["print", "(prefers-color-scheme: dark)"]) window.matchMedia(media).addEventListener("change", recolour);
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
    this.showKey();
  }

  connectPointer() {
    const { canvas, camera } = this;
    const fingers = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      if (fingers.size === 2) {
        const [other] = [...fingers.values()].filter((finger) => finger.pointerId !== event.pointerId);
        const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
        camera.zoomBy(apart(event) / Math.max(1, apart(before)));
        camera.shift = [camera.shift[0] + dx / 2, camera.shift[1] + dy / 2];
      } else if (event.shiftKey) camera.shift = [camera.shift[0] + dx, camera.shift[1] + dy];
      else camera.turn(-dx * 0.008, dy * 0.008);
      fingers.set(event.pointerId, event);
      this.redraw();
    });
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
    }
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && document.activeElement !== canvas) return; // the page's own scrolling
      event.preventDefault();
      camera.zoomBy(Math.exp(-event.deltaY * 0.0015));
      this.redraw();
    }, { passive: false });
  }

  key(event) {
    const onStage = event.target === this.canvas;
    if ((!onStage && event.target !== document.body) || event.ctrlKey || event.metaKey || event.altKey) return;
    const turns = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
    const acts = {
      " ": () => this.play(!this.playing),
      ",": () => { this.play(false); this.seek(this.frame - 1); },
      ".": () => { this.play(false); this.seek(this.frame + 1); },
      n: () => this.nextWorst(),
      "+": () => this.camera.zoomBy(1.15),
      "=": () => this.camera.zoomBy(1.15),
      "-": () => this.camera.zoomBy(1 / 1.15),
    };
    if (onStage && turns[event.key]) this.camera.turn(...turns[event.key]);
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
    this.redraw();
  }

  showKey() {
    const list = document.getElementById("colour-key");
    list.replaceChildren();
    if (this.options.colour === "status") {
      STATUS_WORDS.forEach((words, status) => {
        if (!words) return;
        const item = document.createElement("li");
        const mark = document.createElement("span");
        mark.textContent = `${words[0]} `;
        mark.style.color = this.colours.status[status];
        item.append(mark, words[1]);
        list.append(item);
      });
      return;
    }
    const item = document.createElement("li");
    const ramp = document.createElement("span");
    ramp.className = "ramp";
    const ends = document.createElement("span");
    ends.className = "ramp-ends";
    for (const text of ["0", `${(1e3 * this.take.far_m).toFixed(0)} mm and more`]) {
      const end = document.createElement("span");
      end.textContent = text;
      ends.append(end);
    }
    item.append(ramp, ends);
    list.append(item);
  }
}
