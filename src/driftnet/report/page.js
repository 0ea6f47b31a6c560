"use strict";
// Truth, prediction and error of stored rollouts, drawn from the bytes beside each viewer.
(() => {
  const MAPS = {
    light: {
      field: ["#0b4f8a", "#5b9fcd", "#f3f3f1", "#e59a68", "#a33b00"],
      error: ["#4a2a86", "#a596cb", "#f3f3f1", "#e3b173", "#8c4a00"],
    },
    dark: {
      field: ["#8accff", "#2f74a8", "#16191e", "#b35a22", "#ffb886"],
      error: ["#c4b2ff", "#6a56a8", "#16191e", "#9c6a24", "#ffcf8a"],
    },
    positive: ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"], // cividis
  };
  const BROKEN = [128, 128, 128], NOT_FINITE = -128, LEVELS = 127, FRAME_MS = 180;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const bytes = (text, Kind) => new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const table = (stops) => Array.from({ length: 256 }, (_, index) => {
    const place = (index / 255) * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2);
    const [a, b] = [rgb(stops[low]), rgb(stops[low + 1])];
    return a.map((value, channel) => Math.round(value + (b[channel] - value) * (place - low)));
  });
  const short = (value) => (value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1) : value.toPrecision(3));

  function viewer(root) {
    const data = JSON.parse(root.querySelector("script").textContent);
    const [width, height] = data.size, points = width * height;
    const part = (name) => root.querySelector(`[data-part="${name}"]`);
    const choice = (name) => Number(part(name).value);
    let timer = null;

    for (const all of [data.truth, ...data.models.map((model) => model.error)])
      for (const channels of all) for (const entry of channels) entry.values = null;
    const values = (entry, Kind) => (entry.values ??= bytes(entry.data, Kind));

    function fill(name, labels) {
      part(name).replaceChildren(...labels.map((label, index) => new Option(label, index)));
      part(name).closest("label").hidden = labels.length < 2;
    }
    fill("model", data.models.map((model) => model.name));
    fill("trajectory", data.truth.map((_, index) => `test trajectory ${index + 1}`));
    fill("channel", data.channels);
    part("frame").max = data.steps.length - 1;
    part("play").hidden = part("frame").closest("label").hidden = data.steps.length < 2;

    function paint(canvas, colours, code) {
      const context = canvas.getContext("2d"), image = context.createImageData(width, height);
      for (let x = 0; x < width; x++)
        for (let y = 0; y < height; y++) {
          const level = code(x * height + y), to = 4 * ((height - 1 - y) * width + x);
          const colour = level === null ? BROKEN : colours[Math.max(0, Math.min(255, Math.round(level)))];
          image.data.set(colour, to);
          image.data[to + 3] = 255;
        }
      canvas.width = width;
      canvas.height = height;
      context.putImageData(image, 0, 0);
    }
    function bar(name, colours, low, high) {
      const canvas = part(`${name}-bar`), context = canvas.getContext("2d");
      canvas.width = 256;
      canvas.height = 1;
      colours.forEach((colour, at) => {
        context.fillStyle = `rgb(${colour})`;
        context.fillRect(at, 0, 1, 1);
      });
      part(`${name}-low`).textContent = short(low);
      part(`${name}-high`).textContent = short(high);
    }
    function draw() {
      const frame = choice("frame"), model = data.models[choice("model")];
      const at = choice("trajectory"), channel = choice("channel");
      const truth = data.truth[at][channel], error = model.error[at][channel];
      const signed = truth.low < 0 && truth.high > 0, limit = Math.max(-truth.low, truth.high);
      const [low, high] = signed ? [-limit, limit] : [truth.low, truth.high];
      const largest = (each) => Math.max(...each.error[at][channel].scale, 1e-30);
      const own = part("scale").value === "own";
      const scale = own ? largest(model) : Math.max(...data.models.map(largest));
      const maps = MAPS[dark.matches ? "dark" : "light"];
      const field = table(signed ? maps.field : MAPS.positive), wrong = table(maps.error);
      const u = values(truth, Uint8Array), e = values(error, Int8Array), from = frame * points;
      const true_ = (point) => truth.low + ((truth.high - truth.low) * u[from + point]) / 255;
      const off = (point) => (error.scale[frame] * e[from + point]) / LEVELS;
      const level = (value) => (255 * (value - low)) / Math.max(high - low, 1e-300);
      const broken = (point) => e[from + point] === NOT_FINITE;
      paint(part("truth"), field, (point) => level(true_(point)));
      paint(part("prediction"), field, (point) => (broken(point) ? null : level(true_(point) + off(point))));
      paint(part("error"), wrong, (point) => (broken(point) ? null : 127.5 + (127.5 * off(point)) / scale));
      bar("field", field, low, high);
      bar("wrong", wrong, -scale, scale);
      say(frame, model, at, data.channels[channel]);
    }
    function say(frame, model, at, channel) {
      const when = `t = ${short(data.times[frame])}, step ${data.steps[frame]} of ${data.last}`;
      const l1 = model.l1[at][frame], error = l1 === null ? "not finite" : short(l1);
      part("when").textContent = when;
      part("frame").setAttribute("aria-valuetext", when);
      part("says").textContent = `relative L1 ${error}`;
      for (const [name, text] of [["truth", "truth"], ["prediction", model.name], ["error", `error of ${model.name}`]])
        part(name).setAttribute("aria-label", `${channel}, ${text}, ${when}${name === "truth" ? "" : `, relative L1 ${error}`}`);
    }
    function stop() {
      clearInterval(timer);
      timer = null;
      part("play").textContent = "Play";
    }
    part("play").addEventListener("click", () => {
      if (timer) return stop();
      part("play").textContent = "Pause";
      timer = setInterval(() => {
        part("frame").value = (choice("frame") + 1) % data.steps.length;
        draw();
      }, FRAME_MS);
    });
    part("frame").addEventListener("input", () => { stop(); draw(); });
    root.addEventListener("change", draw);
    dark.addEventListener("change", draw);
    part("frame").value = data.steps.length - 1;
    draw();
    root.hidden = false;
  }
  document.querySelectorAll(".viewer").forEach(viewer);
})();
