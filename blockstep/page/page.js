"use strict";
// What a reader gains with a script: severities that can be left out, n and p between findings, and what
// lies under the pointer (or the arrow keys' cursor) in a map. The page is whole without it.
document.documentElement.classList.add("js");

// Severities: a chip is a switch.
for (const chip of document.querySelectorAll(".chip[data-severity]:not(.none)")) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-pressed", "true");
  button.append(...chip.childNodes);
  chip.append(button);
  button.addEventListener("click", () => {
    const off = chip.classList.toggle("off");
    button.setAttribute("aria-pressed", String(!off));
    for (const card of document.querySelectorAll(".card"))
      if (card.dataset.severity === chip.dataset.severity) card.hidden = off;
  });
}

// n, p: the next and the previous finding.
const cards = () => [...document.querySelectorAll(".card:not([hidden])")];
if (cards().length > 1) {
  const keys = document.querySelector(".keys");
  for (const part of [["n"], " next, ", ["p"], " previous finding"]) {
    const shown = Array.isArray(part) ? document.createElement("kbd") : document.createTextNode(part);
    if (Array.isArray(part)) shown.textContent = part[0];
    keys.append(shown);
  }
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !"np".includes(event.key)) return;
  const every = cards();
  if (!every.length) return;
  const step = event.key === "n" ? 1 : -1;
  const at = every.indexOf(document.activeElement.closest(".card"));
  const next = every[at < 0 ? 0 : (at + step + every.length) % every.length];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
});

// A link into a launch that is folded opens it.
function unfold() {
  const there = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = there; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (there) there.scrollIntoView({ block: "start" });
}
window.addEventListener("hashchange", unfold);
if (location.hash) unfold();

// Maps.
const numbers = (text) => text.split(",").map(Number);

function cellsOf(map) {
  const found = [];
  for (const run of map.dataset.runs.split(" ")) {
    const [value, count] = run.split("*");
    for (let k = 0; k < Number(count || 1); k++) found.push(Number(value));
  }
  return found;
}

function triple(linear, grid) {
  return `(${linear % grid[0]}, ${Math.floor(linear / grid[0]) % grid[1]}, ${Math.floor(linear / (grid[0] * grid[1]))})`;
}

// The items of a cell: first and last row, first and last column.
function itemsOf(map, x, y) {
  const [rows, columns, down, across, wraps, width] = numbers(map.dataset.raster);
  if (wraps) {
    const first = (y * width + x) * across;
    return [0, 0, first, Math.min(first + across, columns) - 1];
  }
  return [y * down, Math.min((y + 1) * down, rows) - 1, x * across, Math.min((x + 1) * across, columns) - 1];
}

function between(first, last) {
  return first === last ? String(first) : `${first}..${last}`;
}

function indexOf(flat, shape) {
  const found = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    found.unshift(flat % shape[axis]);
    flat = Math.floor(flat / shape[axis]);
  }
  return found.join(", ");
}

function words(map, cells, x, y) {
  const [, columns, , , , width] = numbers(map.dataset.raster);
  const grid = numbers(map.dataset.grid);
  const value = cells[y * width + x];
  const [top, bottom, left, right] = itemsOf(map, x, y);
  const first = top * columns + left, last = bottom * columns + right;
  if (map.dataset.kind === "grid") {
    const state = { 0: "not at its end", 1: "done", 2: "race partner", 3: "finding" }[value];
    if (state === undefined) return "";
    const who = first === last ? triple(first, grid) : `${triple(first, grid)} to ${triple(last, grid)}`;
    return `program instance ${who}: ${state}`;
  }
  if (value === undefined || value === -3) return "";
  const shape = map.dataset.shape === "" ? [] : numbers(map.dataset.shape);
  const one = indexOf(first, shape), two = indexOf(last, shape);
  const where = one === two ? `[${one}]` : shape.length === 1 ? `[${between(first, last)}]` : `[${one}] to [${two}]`;
  const who = value === -2 ? "several instances" : value === -1 ? "nobody in this launch" : `program instance ${triple(value, grid)}`;
  return `${map.dataset.name}${where}: written by ${who}`;
}

for (const map of document.querySelectorAll("svg.map")) {
  const cells = cellsOf(map);
  const width = numbers(map.dataset.raster)[5], height = Math.ceil(cells.length / width);
  const readout = map.parentElement.querySelector(".readout");
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("width", 1);
  cursor.setAttribute("height", 1);
  let at = [0, 0];
  const show = (x, y) => {
    at = [Math.max(0, Math.min(width - 1, x)), Math.max(0, Math.min(height - 1, y))];
    cursor.setAttribute("x", at[0]);
    cursor.setAttribute("y", at[1]);
    map.append(cursor);
    readout.textContent = words(map, cells, at[0], at[1]);
  };
  map.addEventListener("pointermove", (event) => {
    const box = map.getBoundingClientRect();
    show(Math.floor(((event.clientX - box.left) / box.width) * width), Math.floor(((event.clientY - box.top) / box.height) * height));
  });
  map.addEventListener("pointerleave", () => cursor.remove());
  map.addEventListener("focus", () => show(...at));
  map.addEventListener("blur", () => cursor.remove());
  map.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    show(at[0] + step[0], at[1] + step[1]);
  });
}
