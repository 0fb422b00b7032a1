// The view of one job: its stages, its attempts over time, what its shuffles moved, what went wrong, what its tasks printed.
'use strict';

const kColours = {finished: '#0072b2', running: '#56b4e9', failed: '#d55e00', killed: '#8a8f98', lost: '#cc79a7', speculative: '#e69f00'};
const kPage = 10000;      // attempts in a request
const kFew = 5000;        // attempts that the timeline draws one by one
const kMostLines = 400;   // of the timeline
const kMostNamed = 30;    // rows of a matrix that is written out
const kAxis = 22;         // height of the timeline's times
const kHint = 'Point at a task to see which it is.';

// ---- what is known of single tasks --------------------------------------------------------------------------------------

/// The attempts of a job: read once, and then what has changed.
class Attempts {
  constructor(job) { Object.assign(this, {job, list: [], places: new Map(), version: 0, stages: [], workers: new Map(), seconds: 0}); }

  /// Calls `part` after each request, so that the first of many are seen before the last are there.
  async read(part) {
    let from = 0, version = null, page;
    do {
      page = await ask(`/jobs/${this.job}/tasks?since=${this.version}&from=${from}&count=${kPage}`);
      version ??= page.version;  // what changes between two requests comes again
      if (page.from === 0) this.stages = page.stages;
      this.seconds = page.seconds;
      for (const worker of page.workers) this.workers.set(worker.node, {name: worker.name ?? String(worker.node), rack: worker.rack ?? ''});
      for (const task of page.tasks) this.put(task);
      from += page.tasks.length;
      part();
    } while (from < page.total && page.tasks.length);
    this.version = version;
  }
  put(task) {
    const key = this.key(task), place = this.places.get(key) ?? this.list.length;
    this.places.set(key, place);
    this.list[place] = task;
  }
  key(task) { return `${task.stage}.${task.task}.${task.attempt}`; }
  nameOf(node) { return this.workers.get(node)?.name ?? String(node); }
  inputs() { return new Map(this.stages.map(stage => [stage.id, stage.inputs])); }
  /// The largest partition of a stage's shuffle against the median.
  skew(stage) {
    const sizes = (this.stages.find(one => one.id === stage)?.partition_bytes ?? []).slice().sort((a, b) => a - b), typical = quantile(sizes, 0.5);
    return typical ? sizes[sizes.length - 1] / typical : null;
  }
}

/// At most `width` wide, with … for what is left out of the middle.
function shortened(text, width, measure) {
  if (measure(text) <= width) return text;
  let kept = text.length - 1;
  while (kept > 2 && measure(middle(text, kept)) > width) --kept;
  return middle(text, kept);
}
function middle(text, kept) { return text.slice(0, Math.ceil(kept / 2)) + '…' + text.slice(text.length - Math.floor(kept / 2)); }
/// A round step, of 1, 2, 5 or of minutes and hours, that gives at most so many.
function tick(seconds, most) {
  const least = seconds / most, power = 10 ** Math.floor(Math.log10(least || 1));
  if (least < 30) return [1, 2, 5, 10].map(one => one * power).find(one => one >= least);
  return [30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400].find(one => one >= least) ?? Math.ceil(least / 86400) * 86400;
}

// ---- timeline -----------------------------------------------------------------------------------------------------------

/// Attempts over time, a line for each slot of each worker. Of many attempts or slots a point says how busy what it stands for was.
class Timeline {
  constructor(attempts) {
    this.attempts = attempts;
    this.canvas = h('canvas', {height: 60, role: 'img', 'aria-label': 'Tasks over time by worker and slot; the table below has the same'});
    this.hint = h('p', {class: 'dim', 'aria-hidden': true});
    const legend = h('div', {class: 'legend'}, Object.keys(kColours).map(name => {
      const swatch = h('i');
      swatch.style.background = kColours[name];
      return h('span', {}, swatch, name);
    }));
    this.element = h('div', {}, legend, this.canvas, this.hint);
    for (const kind of ['pointermove', 'pointerdown']) this.canvas.addEventListener(kind, event => this.point(event));
    this.hint.textContent = kHint;
  }
  draw() {
    const {list, seconds} = this.attempts, node = lane => Math.floor(lane / 65536);
    const byName = new Map([...this.attempts.workers.keys(), ...list.map(task => task.node)].map(one => [one, this.attempts.nameOf(one)]));
    const lanes = [...new Set(list.map(task => this.lane(task)))].sort((a, b) => (node(a) === node(b) ? a - b : compare(byName.get(node(a)), byName.get(node(b))) || a - b));
    const together = Math.ceil(lanes.length / kMostLines);  // slots in a line
    const lines = Math.ceil(lanes.length / (together || 1)), height = Math.max(2, Math.min(14, Math.floor(900 / Math.max(1, lines))));
    const all = this.canvas.clientWidth || 1000, ratio = window.devicePixelRatio || 1, left = Math.min(130, Math.floor(all / 4));
    const width = Math.max(1, all - left - 8), below = Math.max(16, lines * height);
    this.canvas.width = all * ratio;
    this.canvas.height = (below + kAxis) * ratio;
    this.canvas.style.height = below + kAxis + 'px';
    const draw = this.canvas.getContext('2d');
    draw.scale(ratio, ratio);
    const places = new Map(lanes.map((lane, at) => [lane, Math.floor(at / together)]));
    this.shown = {lines: places, count: lines, together, height, left, width, scale: width / Math.max(seconds, 0.001)};
    this.drawAxes(draw, lanes.map((lane, at) => [byName.get(node(lane)), at === 0 || node(lanes[at - 1]) !== node(lane), places.get(lane)]), below);
    draw.translate(left, 0);
    if (together > 1 || list.length > kFew) this.drawTogether(draw); else this.drawEach(draw);
  }
  /// Names of workers at their first slots, as many as have room, and times below.
  drawAxes(draw, lanes, below) {
    const {height, left, width, scale} = this.shown, style = getComputedStyle(this.canvas), rule = style.getPropertyValue('--rule');
    draw.font = '12px system-ui, sans-serif';
    draw.textBaseline = 'top';
    draw.fillStyle = style.getPropertyValue('--dim');
    let free = 0;
    for (const [name, first, line] of lanes) {
      const y = line * height;
      if (!first) continue;
      if (y && height > 3) this.rule(draw, rule, 0, y - 0.5, left + width, y - 0.5);
      if (y < free) continue;
      draw.fillText(shortened(name, left - 10, text => draw.measureText(text).width), 2, y + 1);
      free = y + 14;
    }
    const step = tick(width / scale, Math.max(2, Math.floor(width / 90)));
    for (let at = 0; at * scale <= width + 0.5; at += step) {
      const x = Math.round(left + at * scale) + 0.5, text = at ? duration(+at.toPrecision(6)) : '0';
      this.rule(draw, rule, x, 0, x, below + 4);
      draw.textAlign = !at ? 'left' : x + 30 > left + width ? 'right' : 'center';
      draw.fillText(text, x, below + 6);
    }
    draw.textAlign = 'left';
  }
  rule(draw, colour, ...[fromX, fromY, toX, toY]) {
    draw.strokeStyle = colour;
    draw.lineWidth = 1;
    draw.beginPath();
    draw.moveTo(fromX, fromY);
    draw.lineTo(toX, toY);
    draw.stroke();
  }
  lane(task) { return task.node * 65536 + task.slot; }
  kind(task) { return task.speculative && (task.fate === 'running' || task.fate === 'finished') ? 'speculative' : task.fate; }
  end(task) { return task.ended_seconds ?? this.attempts.seconds; }
  drawEach(draw) {
    const {lines, height, scale} = this.shown;
    for (const task of this.attempts.list) {
      const from = task.launched_seconds * scale, width = this.end(task) * scale - from;
      draw.fillStyle = kColours[this.kind(task)];
      draw.fillRect(from, lines.get(this.lane(task)) * height, Math.max(width - (width > 3 ? 0.5 : 0), 0.5), Math.max(height - 1, 1));
    }
  }
  /// Sums of slot time by fate, line and column; what is rare (a failure) is drawn full where it is.
  drawTogether(draw) {
    const {lines, count: rows, together, height, width, scale} = this.shown, columns = Math.ceil(width);
    const sums = new Map(Object.keys(kColours).map(kind => [kind, new Float32Array(rows * columns)]));
    for (const task of this.attempts.list) {
      const sum = sums.get(this.kind(task)), row = lines.get(this.lane(task)) * columns;
      const from = Math.max(0, task.launched_seconds * scale), to = Math.max(this.end(task) * scale, from + 0.01);
      for (let column = Math.floor(from); column < Math.min(to, columns); ++column)
        sum[row + column] += Math.min(to, column + 1) - Math.max(from, column);
    }
    const image = new ImageData(columns, rows), pixels = image.data;
    for (const [kind, sum] of sums) {
      const [red, green, blue] = [1, 3, 5].map(at => parseInt(kColours[kind].slice(at, at + 2), 16)), rare = kind !== 'finished' && kind !== 'running';
      for (let at = 0; at < sum.length; ++at) {
        const alpha = rare ? 255 : Math.min(255, 40 + 215 * sum[at] / together);
        if (!sum[at] || pixels[4 * at + 3] > alpha) continue;
        pixels[4 * at] = red; pixels[4 * at + 1] = green; pixels[4 * at + 2] = blue; pixels[4 * at + 3] = alpha;
      }
    }
    const small = h('canvas', {width: columns, height: rows});
    small.getContext('2d').putImageData(image, 0, 0);
    draw.imageSmoothingEnabled = false;
    draw.drawImage(small, 0, 0, width, rows * height);
  }
  point(event) {
    if (!this.shown || event.offsetX < this.shown.left) return;
    const {lines, height, scale, left} = this.shown, at = (event.offsetX - left) / scale, line = Math.floor(event.offsetY / height);
    const found = this.attempts.list.find(task => lines.get(this.lane(task)) === line && task.launched_seconds <= at && this.end(task) >= at);
    this.hint.textContent = found ? `${duration(at)}: task ${found.stage}.${found.task}, attempt ${found.attempt} on ${this.attempts.nameOf(found.node)}, slot ${found.slot}: ${found.fate}${found.speculative ? ', speculative' : ''} after ${duration(this.end(found) - found.launched_seconds)}` : duration(at);
  }
}

// ---- graph --------------------------------------------------------------------------------------------------------------

/// Stages as a graph from left to right; edges with the bytes of the shuffle. `limiting`: the stage that is marked.
function graph(stages, inputsOf, limiting) {
  const by = new Map(stages.map(stage => [stage.id, stage])), level = new Map();
  const levelOf = id => {
    if (!level.has(id)) { level.set(id, 0); level.set(id, Math.max(0, ...(inputsOf.get(id) || []).filter(input => by.has(input)).map(input => levelOf(input) + 1))); }
    return level.get(id);
  };
  const kWide = 190, kHigh = 60, kAcross = kWide + 84, kDown = kHigh + 22, places = new Map(), rows = [];
  for (const stage of stages) {
    const column = levelOf(stage.id);
    rows[column] = (rows[column] ?? -1) + 1;
    places.set(stage.id, [2 + column * kAcross, 8 + rows[column] * kDown]);
  }
  const width = rows.length * kAcross - 76, height = 16 + kDown * Math.max(...rows.map(row => row + 1), 1);
  const parts = [], cut = text => (text.length > 26 ? middle(text, 25) : text);
  for (const stage of stages)
    for (const input of inputsOf.get(stage.id) || []) {
      if (!places.has(input)) continue;
      const [x, y] = places.get(input), [to, down] = places.get(stage.id);
      parts.push(s('path', {class: 'edge', d: `M${x + kWide},${y + kHigh / 2} C${x + kWide + 40},${y + kHigh / 2} ${to - 40},${down + kHigh / 2} ${to},${down + kHigh / 2}`}),
          s('text', {class: 'dim', x: x + kWide + 6, y: y + kHigh / 2 - 6}, bytes(by.get(input).shuffle_bytes)));
    }
  for (const stage of stages) {
    const [x, y] = places.get(stage.id), [, what, where] = stage.name.match(/^(.*) \(([^()]*)\)/) ?? [, stage.name, ''], more = stage.name.slice(stage.name.indexOf(where ? `(${where})` : stage.name) + where.length + 2).trim();
    parts.push(s('g', {}, s('title', {}, `${stage.name}: ${stage.finished} of ${stage.tasks} tasks${stage.id === limiting ? '; it limits the job' : ''}`), s('rect', {class: stage.id === limiting ? 'box limits' : 'box', x, y, width: kWide, height: kHigh, rx: 5}),
        s('rect', {class: stage.failed_attempts ? 'done failed' : 'done', x, y, width: kWide * (stage.tasks ? stage.finished / stage.tasks : 0), height: kHigh, rx: 5}),
        s('text', {class: 'name', x: x + 8, y: y + 17}, cut(`${stage.id} ${what}${where && more ? ' ' + more : ''}`)), s('text', {class: 'dim', x: x + 8, y: y + 34}, cut(where)),
        s('text', {x: x + 8, y: y + 51}, `${count(stage.finished)} of ${count(stage.tasks)}${stage.running ? `, ${count(stage.running)} running` : ''}${stage.failed_attempts ? `, ${count(stage.failed_attempts)} failed` : ''}`)));
  }
  return h('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Stages as a graph; the table below has the same'}, s('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${stages.length} stages`}, parts));
}

// ---- where the time went ------------------------------------------------------------------------------------------------

const kSpent = {driver: ['driver', '#b0b6bd'], waiting_for_slots: ['waiting for slots', '#8a8f98'], failed_attempts: ['failed attempts', '#d55e00'], starting: ['starting', '#cc79a7'], reading: ['reading', '#56b4e9'],
  shuffle: ['shuffle', '#e69f00'], user_code: ['user code', '#0072b2'], writing: ['writing', '#009e73'], unfinished: ['not finished', '#f0e442']};

/// The critical path by stage: a bar of what its time was spent on, and the same in words.
class Path {
  constructor() {
    this.said = h('p');
    const name = row => (row.limits ? h('b', {}, row.name + ', which limits the job') : row.name);
    this.table = new Table('The tasks and waits that led to its end, by stage', [{name: 'Stage', n: 1, text: r => r.stage ?? ''}, {name: 'Name', text: name}, {name: 'Time', n: 1, text: r => duration(r.seconds), sort: r => r.seconds},
      {name: 'Part', n: 1, text: r => percent(r.part), sort: r => r.part}, {name: 'Spent on', text: r => this.bar(r)}, {name: '', long: 1, text: r => this.words(r)}], r => r.stage ?? 'driver', {plain: true, told: 1});
    this.element = h('div', {hidden: true}, h('h2', {}, 'Where its time went'), this.said, this.table.element);
  }
  set(path) {
    const rows = path.stages.map(stage => ({...stage, limits: stage.stage === path.limiting_stage}));
    if (path.driver_seconds > 0) rows.push({name: 'driver', seconds: path.driver_seconds, spent_seconds: {driver: path.driver_seconds}});
    this.all = path.seconds;
    const limiting = rows.find(row => row.limits);
    this.element.hidden = !limiting;
    if (!limiting) return;
    this.said.textContent = `Stage ${limiting.stage} has ${percent(limiting.seconds / path.seconds)} of the ${duration(path.seconds)}` + (limiting.longest_seconds ? `; there the most, ${duration(limiting.longest_seconds)}, went to task ${limiting.stage}.${limiting.longest_task} on ${limiting.longest_on}.` : '.');
    this.table.set(rows.filter(row => row.seconds > 0).map(row => ({...row, part: row.seconds / path.seconds})));
  }
  parts(row) { return Object.entries(row.spent_seconds).sort((a, b) => b[1] - a[1]); }
  bar(row) {
    let x = 0;
    const most = Math.max(...this.table.rows.map(one => one.seconds), row.seconds);
    return s('svg', {width: 200, height: 14, 'aria-hidden': true}, this.parts(row).map(([kind, seconds]) => {
      const width = 200 * seconds / most, rect = s('rect', {x, y: 1, width, height: 12, fill: kSpent[kind][1]}, s('title', {}, `${kSpent[kind][0]} ${duration(seconds)}`));
      x += width;
      return rect;
    }));
  }
  words(row) {
    return h('span', {class: 'legend'}, this.parts(row).filter(([, seconds]) => seconds >= this.all / 100).map(([kind, seconds]) => {
      const swatch = h('i');
      swatch.style.background = kSpent[kind][1];
      return h('span', {}, swatch, `${kSpent[kind][0]} ${duration(seconds)}`);
    }));
  }
}

/// Earlier jobs of the same program as bars, the latest at the right, and the job itself.
function runsOf(job, runs) {
  if (!runs.length) return '';
  const all = [...runs, job], most = Math.max(...all.map(run => run.seconds), 1e-9), kWide = 16, kHigh = 44;
  const bars = all.map((run, at) => {
    const height = Math.max(2, kHigh * run.seconds / most), said = `job ${run.id}: ${run.state === 'finished' ? '' : run.state + ' after '}${duration(run.seconds)}, read ${bytes(run.input_bytes)}`;
    const rect = s('rect', {class: run.state === 'finished' || run.state === 'running' ? 'bar' : 'bar bad', x: at * kWide + 1, y: kHigh - height, width: kWide - 3, height, opacity: run === job ? 1 : 0.55}, s('title', {}, said));
    return run === job ? rect : s('a', {href: '/jobs/' + run.id, 'aria-label': said}, rect);
  });
  const done = runs.filter(run => run.state === 'finished').map(run => run.seconds).sort((a, b) => a - b), typical = quantile(done, 0.5), ratio = typical ? job.seconds / typical : 1;
  const said = typical == null ? 'None of its earlier runs finished.' : `Earlier runs took ${duration(typical)} (the median of ${count(done.length)}); ${job.state === 'running' ? 'this one has taken' : 'this one took'} ${ratio >= 1.5 || ratio <= 0.67 ? ratio.toPrecision(2) + ' times as long' : duration(job.seconds)}.`;
  return h('div', {class: 'runs'}, s('svg', {width: all.length * kWide, height: kHigh + 1, role: 'img', 'aria-label': `times of ${count(runs.length)} earlier runs and of this one`}, bars, s('path', {class: 'axis', d: `M0,${kHigh + 0.5}H${all.length * kWide}`})), h('span', {class: ratio >= 1.5 ? 'warn' : 'dim'}, said));
}

/// What differs from another run: stages of both, put together by name in their order, each figure above that of the other run.
class Comparison {
  constructor(id) {
    Object.assign(this, {id, offered: '', other: null, said: h('p', {role: 'status'})});
    this.which = h('select', {onchange: () => this.read()});
    const pair = (name, of, words) => ({name, n: 1, sort: r => (of(r.here) ?? 0) - (of(r.there) ?? 0), text: r => {
      const [here, there] = [of(r.here), of(r.there)], much = here > 1.5 * there && here - there > of(this.most) / 20;
      return h('span', {}, h('span', {class: much ? 'warn' : null}, here == null ? '–' : words(here)), h('div', {class: 'dim'}, there == null ? '–' : words(there)));
    }});
    this.table = new Table('Its stages above those of the other job', [{name: 'Stage', text: r => (r.here ?? r.there).name, long: 1}, pair('Time', t => t?.seconds, duration), pair('Tasks', t => t?.tasks, count), pair('Median task', t => t?.task_figures.seconds.median, duration),
      pair('Longest task', t => t?.task_figures.seconds.max, duration), pair('Read', t => t?.input_bytes, bytes), pair('Shuffled', t => t?.shuffle_bytes, bytes), pair('Spilled', t => t?.task_figures.spilled_bytes.total, bytes), pair('Failed attempts', t => t?.failed_attempts, count)], r => r.key, {plain: true, told: 1});
    this.stages = h('details', {hidden: true}, h('summary', {}, 'Stages of both'), this.table.element);
    this.element = h('div', {hidden: true}, h('label', {}, 'Compare with ', this.which), this.said, this.stages);
  }
  /// The earlier runs, the latest first; the latest that finished is taken until another is chosen.
  offer(runs) {
    const said = runs.map(run => run.id).join();
    if (said === this.offered) return;
    this.offered = said;
    this.element.hidden = !runs.length;
    const chosen = this.which.value;
    this.which.replaceChildren(h('option', {value: ''}, '–'), ...[...runs].reverse().map(run => h('option', {value: run.id}, `job ${run.id}, ${run.state} after ${duration(run.seconds)}`)));
    this.which.value = runs.some(run => String(run.id) === chosen) ? chosen : runs.findLast(run => run.state === 'finished')?.id ?? '';
    if (this.which.value !== chosen) this.read();
  }
  async read() {
    this.other = null;
    this.stages.hidden = true;
    this.said.textContent = '';
    if (!this.which.value) return;
    try {
      this.other = await ask(`/jobs/${this.which.value}`);
      this.draw();
    } catch (error) { this.said.textContent = error.message; }
  }
  set(job) {
    this.job = job;
    this.draw();
  }
  draw() {
    if (!this.other) return;
    const keyed = stages => { const seen = new Map(); return new Map(stages.map(stage => { const times = (seen.get(stage.name) ?? 0) + 1; seen.set(stage.name, times); return [`${stage.name} ${times}`, stage]; })); };
    const here = keyed(this.job.stages), there = keyed(this.other.stages), rows = [...new Set([...here.keys(), ...there.keys()])].map(key => ({key, here: here.get(key), there: there.get(key)}));
    const sum = of => this.job.stages.reduce((total, stage) => total + (of(stage) ?? 0), 0), more = row => (row.here?.seconds ?? 0) - (row.there?.seconds ?? 0);
    this.most = {seconds: sum(t => t.seconds), tasks: sum(t => t.tasks), input_bytes: sum(t => t.input_bytes), shuffle_bytes: sum(t => t.shuffle_bytes), failed_attempts: 0, task_figures: {seconds: {median: 0, max: 0}, spilled_bytes: {total: 0}}};
    const all = this.job.seconds - this.other.seconds, most = rows.reduce((a, b) => (Math.abs(more(b)) > Math.abs(more(a)) ? b : a), {key: ''});
    const changed = most.key && Math.abs(more(most)) >= Math.abs(all) / 4 ? ` The stage that differs most is ${(most.here ?? most.there).name}: ${duration(most.here?.seconds ?? 0)} instead of ${duration(most.there?.seconds ?? 0)}.` : '';
    const options = job => Object.entries(job.options ?? {}).map(([name, value]) => `--${name} ${value}`).join(' ') || 'none';
    this.said.textContent = `${this.job.state === 'running' ? 'It has taken' : 'It took'} ${duration(this.job.seconds)}, job ${this.other.id} ${duration(this.other.seconds)}; it read ${bytes(this.job.input_bytes)}, job ${this.other.id} ${bytes(this.other.input_bytes)}.` + changed +
        (options(this.job) === options(this.other) ? '' : ` Its options are ${options(this.job)}, those of job ${this.other.id} ${options(this.other)}.`);
    this.stages.hidden = false;
    this.table.set(rows);
  }
}

// ---- shuffle ------------------------------------------------------------------------------------------------------------

/// Bytes from the workers (or racks) that wrote map outputs to those that read them.
class ShuffleMatrix {
  constructor(job, attempts) {
    Object.assign(this, {job, attempts, byRack: false, shown: h('div')});
    const button = (text, byRack) => h('button', {type: 'button', 'aria-pressed': String(byRack === this.byRack), onclick: () => { this.byRack = byRack; this.press(); this.draw(); }}, text);
    this.buttons = [button('Workers', false), button('Racks', true)];
    this.element = h('details', {ontoggle: () => this.read()}, h('summary', {}, 'Shuffle between workers and racks'), h('div', {class: 'tools'}, this.buttons), this.shown);
  }
  press() { this.buttons.forEach((button, at) => button.setAttribute('aria-pressed', String(this.byRack === (at === 1)))); }
  /// Only while somebody looks.
  async read() {
    if (!this.element.open) return;
    try {
      this.known = await ask(`/jobs/${this.job}/shuffle`);
      this.draw();
    } catch (error) { this.shown.replaceChildren(h('p', {class: 'dim'}, error.message)); }
  }
  draw() {
    if (!this.known) return;
    const {names, bytes: cells} = this.byRack && this.known.by === 'node' ? this.racks() : this.known;
    const sum = rows => rows.reduce((total, row) => total + row.reduce((a, b) => a + b, 0), 0), all = sum(cells);
    const stayed = names.reduce((total, _, at) => total + cells[at][at], 0), what = this.byRack || this.known.by === 'rack' ? 'racks' : 'workers';
    const said = `${bytes(all)} in all, of which ${bytes(all - stayed)} (${percent(all ? (all - stayed) / all : 0)}) went from one of ${count(names.length)} ${what} to another.`;
    const left = this.known.stages_left_out;
    this.shown.replaceChildren(h('p', {}, said), left.length ? h('p', {class: 'warn'}, `Without stages ${left.join(', ')}: their partitions were split among tasks, or are too many.`) : '',
        names.length <= kMostNamed ? this.table(names, cells) : this.picture(names, cells));
  }
  racks() {
    const rackOf = new Map([...this.attempts.workers.values()].map(worker => [worker.name, worker.rack])), names = [...new Set(this.known.names.map(name => rackOf.get(name) ?? ''))].sort(compare);
    const places = this.known.names.map(name => names.indexOf(rackOf.get(name) ?? '')), cells = names.map(() => names.map(() => 0));
    this.known.bytes.forEach((row, from) => row.forEach((cell, to) => { cells[places[from]][places[to]] += cell; }));
    return {names, bytes: cells};
  }
  table(names, cells) {
    const most = Math.max(1, ...cells.flat());
    const cell = part => { const td = h('td', {class: 'n'}, bytes(part)); td.style.setProperty('--part', (part / most).toFixed(3)); return td; };
    return h('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Shuffle matrix'}, h('table', {class: 'matrix'}, h('caption', {}, 'Written by the rows, read by the columns'),
        h('thead', {}, h('tr', {}, h('td'), names.map(name => h('th', {scope: 'col', class: 'n'}, name)))), h('tbody', {}, names.map((name, from) => h('tr', {}, h('th', {scope: 'row'}, name), cells[from].map(cell))))));
  }
  picture(names, cells) {
    const size = Math.max(2, Math.floor(600 / names.length)), most = Math.max(1, ...cells.map(row => Math.max(...row))), hint = h('p', {class: 'dim', 'aria-hidden': true}, ' ');
    const canvas = h('canvas', {width: names.length * size, height: names.length * size, role: 'img', 'aria-label': `Bytes between ${names.length} workers; Racks has them in numbers`,
      onmousemove: event => { const from = Math.floor(event.offsetY / size), to = Math.floor(event.offsetX / size); if (cells[from]?.[to] != null) hint.textContent = `${names[from]} to ${names[to]}: ${bytes(cells[from][to])}`; }});
    canvas.style.width = names.length * size + 'px';
    const draw = canvas.getContext('2d');
    draw.fillStyle = kColours.finished;
    cells.forEach((row, from) => row.forEach((part, to) => { draw.globalAlpha = part / most; draw.fillRect(to * size, from * size, size, size); }));
    return h('div', {class: 'wide'}, canvas, hint);
  }
}

// ---- tables -------------------------------------------------------------------------------------------------------------

function stagesTable(attempts) {
  const time = (t, which) => (t.task_figures.seconds.max > 0 ? t.task_figures.seconds[which] : null);
  const times = [['Median', 'median'], ['95 %', 'p95'], ['Longest', 'max']].map(([name, which]) => ({name, n: 1, text: t => duration(time(t, which)), sort: t => time(t, which) ?? 0}));
  const skew = t => attempts.skew(t.id);
  return new Table('Stages', [
    {name: 'Stage', n: 1, text: t => t.id, sort: t => t.id}, {name: 'Name', text: t => t.name}, {name: 'State', text: t => stateOf(t.state)},
    {name: 'Tasks done', text: t => bar(t.tasks ? t.finished / t.tasks : 0, `progress of stage ${t.id}`, `${count(t.finished)} of ${count(t.tasks)}`), sort: t => t.finished / t.tasks},
    {name: 'Running', n: 1, has: t => t.running, text: t => count(t.running), sort: t => t.running},
    {name: 'Failed', n: 1, has: t => t.failed_attempts, text: t => count(t.failed_attempts), sort: t => t.failed_attempts}, {name: 'Speculative', n: 1, has: t => t.speculative_attempts, text: t => (t.speculative_attempts ? `${t.speculative_won} of ${t.speculative_attempts} won` : ''), sort: t => t.speculative_attempts},
    ...times, {name: 'Input', n: 1, text: t => bytes(t.input_bytes), sort: t => t.input_bytes}, {name: 'Shuffle', n: 1, text: t => bytes(t.shuffle_bytes), sort: t => t.shuffle_bytes},
    {name: 'Spilled', n: 1, text: t => bytes(t.task_figures.spilled_bytes.total), sort: t => t.task_figures.spilled_bytes.total},
    {name: 'Skew', n: 1, live: 1, text: t => (skew(t) ? skew(t).toFixed(1) + ' ×' : '–'), sort: t => skew(t) ?? 0},
    {name: 'Peak memory', n: 1, text: t => bytes(t.peak_task_memory_bytes), sort: t => t.peak_task_memory_bytes}, {name: 'Waits for', long: 1, has: t => t.reason, text: t => t.reason}], t => t.id, {plain: true});
}

/// What single tasks took, read and wrote, without what was nothing.
function figuresTable() {
  const kinds = [['seconds', 'time', duration], ['input_bytes', 'read from files', bytes], ['shuffle_read_bytes', 'read from shuffles', bytes], ['shuffle_bytes', 'written to shuffle', bytes], ['output_bytes', 'output', bytes], ['spilled_bytes', 'spilled', bytes]];
  const table = new Table('Of the tasks of a stage', [{name: 'Stage', n: 1, text: f => f.stage, sort: f => f.stage}, {name: 'Name', text: f => f.name}, {name: 'What', text: f => f.what},
    ...[['Total', 'total'], ['Least', 'min'], ['Median', 'median'], ['95 %', 'p95'], ['Most', 'max']].map(([name, which]) => ({name, n: 1, text: f => f.words(f.of[which]), sort: f => f.of[which]}))], f => `${f.stage} ${f.what}`, {plain: true});
  const rows = stages => stages.flatMap(t => kinds.filter(([kind]) => t.task_figures[kind].max > 0).map(([kind, what, words]) => ({stage: t.id, name: t.name, what, words, of: t.task_figures[kind]})));
  return {element: table.element, set: stages => table.set(rows(stages))};
}

function attemptsTable(attempts, showOutput) {
  const output = t => h('button', {type: 'button', class: 'small', 'aria-label': `output of task ${t.stage}.${t.task}`, onclick: () => showOutput(t)}, 'Output');
  return new Table('Attempts', [
    {name: 'Task', text: t => `${t.stage}.${t.task}`, sort: t => t.stage * 1e7 + t.task}, {name: 'Attempt', n: 1, text: t => t.attempt, sort: t => t.attempt}, {name: 'Fate', text: t => h('span', {class: mood(t.fate)}, t.fate + (t.speculative ? ', speculative' : ''))}, {name: 'Worker', clip: 1, text: t => attempts.nameOf(t.node)},
    ...(report || logs ? [] : [{name: 'Printed', text: output, sort: t => attempts.nameOf(t.node)}]),
    {name: 'From', n: 1, text: t => duration(t.launched_seconds), sort: t => t.launched_seconds},
    {name: 'Took', n: 1, text: t => (t.ended_seconds == null ? '' : duration(t.ended_seconds - t.launched_seconds)), sort: t => (t.ended_seconds ?? 1e18) - t.launched_seconds},
    {name: 'From files', n: 1, has: t => t.input_bytes, text: t => (t.input_bytes == null ? '' : bytes(t.input_bytes)), sort: t => t.input_bytes ?? -1}, {name: 'From shuffle', n: 1, has: t => t.shuffle_read_bytes, text: t => (t.shuffle_read_bytes == null ? '' : bytes(t.shuffle_read_bytes)), sort: t => t.shuffle_read_bytes ?? -1}, {name: 'Output', n: 1, text: t => (t.output_bytes == null ? '' : bytes(t.output_bytes)), sort: t => t.output_bytes ?? -1},
    {name: 'Waited for shuffle', n: 1, text: t => duration(t.shuffle_seconds), sort: t => t.shuffle_seconds ?? -1}, {name: 'Peak memory', n: 1, text: t => (t.peak_memory_bytes ? bytes(t.peak_memory_bytes) : ''), sort: t => t.peak_memory_bytes ?? -1},
    {name: 'Spilled', n: 1, has: t => t.spilled_bytes, text: t => (t.spilled_bytes ? bytes(t.spilled_bytes) : ''), sort: t => t.spilled_bytes ?? -1},
    {name: 'Why', long: 1, has: t => t.why, text: t => t.why || ''}], t => attempts.key(t));
}

// ---- the view -----------------------------------------------------------------------------------------------------------

/// Calls `what` when it is called itself, but not before `pause` seconds, and 20 times as long as the last call took, have passed since
/// then; a call in between is made up for. `what` may be asynchronous.
function atMostEvery(pause, what) {
  let next = 0, waiting = null;
  const call = async () => {
    waiting = 0;
    const began = performance.now();
    await what();
    const took = performance.now() - began;
    next = performance.now() + Math.max(1000 * pause, 20 * took);
    waiting = waiting === 0 ? null : setTimeout(call, next - performance.now());
  };
  return () => {
    if (waiting === 0) waiting = 1;  // it is at it: once more
    else if (waiting == null) waiting = setTimeout(call, Math.max(0, next - performance.now()));
  };
}

/// What the tasks of a job printed: of all, or of one.
class Output {
  constructor(job, attempts) { Object.assign(this, {job, attempts, element: h('section', {tabindex: -1, 'aria-label': 'Output of tasks', hidden: true})}); }
  all() { return this.show('Output of its tasks', `/jobs/${this.job}/logs`, () => true, 'No worker has output of it.'); }
  of(task) {
    const worker = this.attempts.nameOf(task.node);
    return this.show(`Output of task ${task.stage}.${task.task} on ${worker}`, `/jobs/${this.job}/logs?task=${task.stage}.${task.task}&bytes=4194304`, log => log.node === worker,
        task.fate === 'running' ? 'What a task printed is known when it has ended.' : 'It printed nothing, or its worker keeps it no longer.');
  }
  async show(title, path, wanted, none) {
    let pieces;
    try {
      pieces = (await ask(path)).filter(wanted).map(log => h('div', {}, h('h3', {}, log.node), h('pre', {tabindex: 0}, log.error || log.text)));
    } catch (error) { pieces = [h('p', {class: 'bad'}, error.message)]; }
    this.element.replaceChildren(h('h2', {}, title), ...(pieces.length ? pieces : [h('p', {class: 'dim'}, none)]), h('button', {type: 'button', onclick: () => { this.element.hidden = true; }}, 'Close'));
    this.element.hidden = false;
    this.element.scrollIntoView({block: 'nearest'});
    this.element.focus({preventScroll: true});
  }
}

function summaryOf(job) {
  const done = part(job), running = job.state === 'running';
  return [numbers([['state', stateOf(job.state)], ['progress', percent(job.state === 'finished' ? 1 : done)], ['time', duration(job.seconds)],
    ...(running && job.seconds_left != null ? [['left, about', duration(job.seconds_left)]] : []), ['user', job.user || '–'], ...(job.pool ? [['pool', job.pool]] : []),
    ...(job.deadline_seconds_left == null ? [] : [['to the deadline', duration(job.deadline_seconds_left)]]),
    ...[['input', job.input_bytes], ['shuffle', job.shuffle_bytes], ['prefetched', job.prefetch.prefetched_bytes], ['wasted', job.prefetch.wasted_bytes], ['evicted', job.prefetch.evicted_bytes]].filter(([, size]) => size > 0).map(([name, size]) => [name, bytes(size)])]),
  Object.keys(job.options ?? {}).length ? h('p', {}, 'options: ', h('code', {}, Object.entries(job.options).map(([name, value]) => `--${name} ${value}`).join(' '))) : '',
  job.error ? h('p', {class: 'bad'}, job.error) : ''];
}

function killButton(id) {
  return h('button', {type: 'button', hidden: true, onclick: async () => {
    if (!confirm(`End job ${id}?`)) return;
    try { await ask(`/jobs/${id}?reason=${encodeURIComponent('killed on the page')}`, {method: 'DELETE', headers: {'X-Weft': '1'}}); } catch (error) { say(error.message, true); }
  }}, 'End this job');
}

class JobView {
  constructor(id) {
    this.id = id;
    this.attempts = new Attempts(id);
    this.output = new Output(id, this.attempts);
    this.timeline = new Timeline(this.attempts);
    this.matrix = new ShuffleMatrix(id, this.attempts);
    this.path = new Path();
    this.comparison = new Comparison(id);
    this.stages = stagesTable(this.attempts);
    this.figures = figuresTable();
    this.table = attemptsTable(this.attempts, task => this.output.of(task));
    this.counters = new Table('Counters', [{name: 'Counter', text: c => c[0]}, {name: 'Value', n: 1, text: c => count(c[1]), sort: c => c[1]}], c => c[0], {plain: true});
    addEventListener('redraw', () => { if (this.title.isConnected && this.attempts.list.length) this.timeline.draw(); });
    this.readTasks = atMostEvery(1, () => this.tasks());
    this.readRest = atMostEvery(5, () => this.rest());
    this.lay();
  }
  lay() {
    const {id} = this;
    this.title = h('h1', {}, `Job ${id}`);
    this.summary = h('div');
    this.dag = h('div');
    this.runs = h('div');
    this.found = h('ul', {class: 'findings'});
    this.why = h('p', {class: 'dim'});
    this.note = h('p', {class: 'dim'});
    this.kill = killButton(id);
    this.detail = h('div', {hidden: true}, h('h2', {}, 'Timeline'), this.timeline.element, this.matrix.element, h('h2', {}, 'Attempts'), this.table.element);
    const tools = [this.kill, ...(logs ? [] : [h('button', {type: 'button', onclick: () => this.output.all()}, 'Show output of its tasks')]),
      h('a', {href: `/api/v1/jobs/${id}/trace`, download: `job-${id}-trace.json`}, 'Trace for Perfetto'), link(`/api/v1/jobs/${id}`, 'JSON')];
    view.replaceChildren(this.title, this.summary, h('div', {class: 'tools'}, report ? [] : tools), this.runs, this.comparison.element, this.found, this.why, this.path.element, h('h2', {}, 'Stages'), this.dag, this.stages.element,
        h('details', {}, h('summary', {}, 'Time, input, shuffle and spills of single tasks'), this.figures.element), this.note, this.output.element, this.detail, h('h2', {}, 'Counters'), this.counters.element);
  }
  watch() {
    const job = now => this.show(now), explain = now => { this.why.textContent = now.state === 'running' ? now.summary : ''; };
    job.trouble = error => this.summary.replaceChildren(h('p', {class: 'bad'}, error));
    explain.trouble = () => {};
    watch({[`/jobs/${this.id}`]: job, ...(logs ? {} : {[`/jobs/${this.id}/explain`]: explain})});
  }
  show(job) {
    this.job = job;
    this.title.textContent = `Job ${this.id}: ${nameOf(job)}`;
    document.title = `${nameOf(job)} – weft`;
    this.kill.hidden = job.state !== 'running' || logs;
    this.summary.replaceChildren(...summaryOf(job));
    this.stages.set(job.stages);
    this.figures.set(job.stages);
    this.comparison.set(job);
    this.drawGraph();
    this.readTasks();
    this.readRest();
  }
  drawGraph() {
    const said = JSON.stringify([this.job.stages.map(t => [t.id, t.finished, t.running, t.shuffle_bytes]), this.attempts.stages.length, this.limiting]);
    if (this.graphed === said) return;
    this.graphed = said;
    this.dag.replaceChildren(this.job.stages.length ? graph(this.job.stages, this.attempts.inputs(), this.limiting) : '');
  }
  async tasks() {
    if (!this.title.isConnected) return;
    try {
      await this.attempts.read(() => {
        this.detail.hidden = false;
        this.table.set(this.attempts.list);
      });
      this.timeline.draw();
      this.stages.draw();
      this.drawGraph();
    } catch (error) { this.note.textContent = error.message; }
  }
  /// What costs the master more than it tells at each step.
  async rest() {
    if (!this.title.isConnected) return;
    await this.matrix.read();
    await ask(`/jobs/${this.id}/path`).then(path => {
      this.limiting = path.limiting_stage;
      this.path.set(path);
      this.drawGraph();
    }).catch(() => {});
    await ask(`/jobs/${this.id}/runs`).then(runs => {
      this.runs.replaceChildren(runsOf(this.job, runs ?? []));
      this.comparison.offer(runs ?? []);
    }).catch(() => {});
    await ask(`/jobs/${this.id}/counters`).then(all => this.counters.set(Object.entries(all)), () => {});
    await ask(`/jobs/${this.id}/findings`).then(all => this.found.replaceChildren(...all.map(one => h('li', {}, h('b', {}, one.kind.replaceAll('_', ' ')), ': ' + one.finding, h('div', {class: 'dim'}, one.advice)))), () => {});
  }
}
