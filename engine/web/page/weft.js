// The page of a weft master: views of what /api/v1 answers, live by server-sent events. Everything from outside becomes text nodes
// or attributes, never HTML. Tables keep their rows from one update to the next, so that focus, selection and scrolling stay.
'use strict';

const view = document.getElementById('view'), statusLine = document.getElementById('status');
// A report is this page with what it shows inside, and without a server.
const report = document.getElementById('data') && JSON.parse(document.getElementById('data').textContent);
const kRows = 200;  // of a table, until more are asked for

// ---- text -------------------------------------------------------------------------------------------------------------

function bytes(n) {
  if (n == null) return '–';
  let unit = 0;
  while (n >= 1024 && unit < 5) { n /= 1024; ++unit; }
  return (unit && n < 100 ? n.toPrecision(3) : Math.round(n)) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][unit];
}
function duration(s) {
  if (s == null) return '–';
  if (s < 0) return '−' + duration(-s);
  if (s < 1) return Math.round(s * 1000) + ' ms';
  if (s < 60) return s.toPrecision(3) + ' s';
  const m = Math.floor(s / 60);
  return m < 60 ? `${m} min ${Math.floor(s % 60)} s` : `${Math.floor(m / 60)} h ${m % 60} min`;
}
const count = n => (n == null ? '–' : Math.round(n).toLocaleString('en'));
const percent = x => (x == null || !isFinite(x) ? '–' : Math.round(100 * x) + ' %');
const rate = n => (n ? bytes(n) + '/s' : '–');
function quantile(sorted, q) { return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] : null; }

// ---- elements ---------------------------------------------------------------------------------------------------------

const kSvg = 'http://www.w3.org/2000/svg';
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value != null && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter(child => child != null).map(child => (child instanceof Node ? child : String(child))));
  return element;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(kSvg, tag), attributes, children);
const link = (href, text) => h('a', {href}, text);
const bar = (part, label) => h('span', {}, h('progress', {max: 1, value: Math.min(1, part || 0), 'aria-label': label}), ' ' + percent(part));
const mood = state => ({running: '', ready: 'good', finished: 'good', done: 'good', failed: 'bad', dead: 'bad', lost: 'bad', killed: 'warn', excluded: 'warn'}[state] || '');
const stateOf = state => h('span', {class: mood(state)}, state);

/// A table whose rows are known by their keys. `columns`: {name, text(row) -> text or node, sort?(row), n: numbers}.
class Table {
  constructor(caption, columns, key, options = {}) {
    Object.assign(this, {columns, key, rows: [], known: new Map(), shown: kRows, filter: '', order: options.order, down: options.down});
    this.body = h('tbody');
    this.more = h('button', {type: 'button', hidden: true, onclick: () => { this.shown += 1000; this.draw(); }});
    this.note = h('span', {class: 'dim', role: 'status'});
    const heads = columns.map((column, at) => h('th', {scope: 'col', class: column.n ? 'n' : null},
        h('button', {type: 'button', onclick: () => this.sort(at)}, column.name)));
    this.heads = heads;
    this.filterBox = h('input', {type: 'search', placeholder: 'filter', 'aria-label': 'Filter ' + caption, oninput: event => { this.filter = event.target.value.toLowerCase(); this.draw(); }});
    this.element = h('section', {}, options.plain ? null : h('div', {class: 'tools'}, this.filterBox, this.note),
        h('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption}, h('table', {}, h('caption', {}, caption), h('thead', {}, h('tr', {}, heads)), this.body)), this.more);
  }
  sort(at) {
    this.down = this.order === at ? !this.down : !!this.columns[at].n;
    this.order = at;
    this.draw();
  }
  set(rows) { this.rows = rows; this.draw(); }
  draw() {
    let rows = this.rows;
    if (this.filter) rows = rows.filter(row => JSON.stringify(row).toLowerCase().includes(this.filter));
    if (this.order != null) {
      const column = this.columns[this.order], value = column.sort || (row => { const cell = column.text(row); return cell instanceof Node ? cell.textContent : cell; });
      const keyed = rows.map(row => [value(row), row]);
      keyed.sort(([a], [b]) => (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true})) * (this.down ? -1 : 1));
      rows = keyed.map(([, row]) => row);
    }
    this.heads.forEach((head, at) => head.setAttribute('aria-sort', at !== this.order ? 'none' : this.down ? 'descending' : 'ascending'));
    const total = rows.length;
    rows = rows.slice(0, this.shown);
    this.note.textContent = total > rows.length ? `${count(rows.length)} of ${count(total)} shown` : '';
    this.more.hidden = total <= rows.length;
    this.more.textContent = `Show more of ${count(total)}`;
    const kept = new Map();
    let place = this.body.firstChild;
    for (const row of rows) {
      const key = String(this.key(row));
      let tr = this.known.get(key);
      if (!tr) tr = h('tr', {'data-key': key}, this.columns.map(column => h('td', {class: [column.n ? 'n' : '', column.long ? 'long' : ''].join(' ').trim() || null})));
      kept.set(key, tr);
      this.columns.forEach((column, at) => this.setCell(tr.children[at], column.text(row)));
      if (tr === place) place = place.nextSibling; else this.body.insertBefore(tr, place);
    }
    while (place) { const next = place.nextSibling; place.remove(); place = next; }
    this.known = kept;
  }
  setCell(cell, content) {
    const said = content instanceof Node ? content.outerHTML : String(content ?? '');
    if (cell.said === said) return;
    cell.said = said;
    cell.replaceChildren(content instanceof Node ? content : said);
  }
}

function numbers(pairs) { return h('ul', {class: 'numbers'}, pairs.map(([label, value]) => h('li', {}, h('b', {}, value), h('span', {}, label)))); }

// ---- what is watched --------------------------------------------------------------------------------------------------

let source = null, stale = null;
function watch(handlers) {
  if (source) source.close();
  source = null;
  const names = Object.keys(handlers);
  if (report) {
    for (const name of names) if (name in report) handlers[name](report[name]);
    return say('report');
  }
  if (!names.length) return;
  source = new EventSource('/api/v1/events?watch=' + encodeURIComponent(names.join(',')));
  for (const name of names)
    source.addEventListener(name, event => {
      say('live');
      handlers[name](JSON.parse(event.data));
    });
  source.addEventListener('trouble', event => { const trouble = JSON.parse(event.data); (handlers[trouble.resource].trouble || (error => say(error, true)))(trouble.error); });
  source.onerror = () => say('the master does not answer; what is shown is old', true);
}
function say(text, bad) {
  if (statusLine.textContent !== text) statusLine.textContent = text;
  statusLine.classList.toggle('bad', !!bad);
}
async function ask(path, options) {
  if (report) return report[path.split('?')[0]];
  const answer = await fetch('/api/v1' + path, options);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

// ---- views ------------------------------------------------------------------------------------------------------------

function clusterView() {
  const summary = h('div'), racks = new Table('Racks', [
    {name: 'Rack', text: r => r.rack}, {name: 'Workers', n: 1, text: r => count(r.workers), sort: r => r.workers},
    {name: 'Running', n: 1, text: r => `${count(r.running)} of ${count(r.slots)}`, sort: r => r.running},
    {name: 'Out', n: 1, text: r => rate(r.cross_rack_up), sort: r => r.cross_rack_up}, {name: 'In', n: 1, text: r => rate(r.cross_rack_down), sort: r => r.cross_rack_down},
    {name: 'Uplink', n: 1, text: r => rate(r.uplink_up || r.most_cross_rack_up), sort: r => r.uplink_up},
    {name: 'In use', text: r => bar(r.in_use, `uplink of ${r.rack} in use`), sort: r => r.in_use}], r => r.rack, {plain: true});
  const nodes = new Table('Workers', [
    {name: 'Name', text: n => n.name}, {name: 'Rack', text: n => n.rack}, {name: 'Host', text: n => n.host}, {name: 'State', text: n => stateOf(n.state)},
    {name: 'Slots in use', text: n => bar(n.running / (n.capacity.cpu || n.slots || 1), `slots of ${n.name} in use`), sort: n => n.running / (n.capacity.cpu || 1)},
    {name: 'Running', n: 1, text: n => `${n.running} of ${n.capacity.cpu ?? n.slots}`, sort: n => n.running},
    {name: 'Processors', n: 1, text: n => (n.measured.machine.memory ? `${(n.measured.worker.cpu || 0).toFixed(1)} of ${(n.measured.machine.cpu || 0).toFixed(1)}` : '–'), sort: n => n.measured.worker.cpu || 0},
    {name: 'Memory', n: 1, text: n => (n.measured.worker.memory ? bytes(n.measured.worker.memory) : '–'), sort: n => n.measured.worker.memory || 0},
    {name: 'Map outputs', n: 1, text: n => `${bytes(n.store_memory_bytes)} + ${bytes(n.store_disk_bytes)} on disk`, sort: n => n.store_memory_bytes + n.store_disk_bytes},
    {name: 'Network', n: 1, text: n => `${rate(n.measured.machine.network_in)} in, ${rate(n.measured.machine.network_out)} out`, sort: n => n.measured.machine.network_in || 0},
    {name: 'Speed', n: 1, text: n => (n.speed ? n.speed.toFixed(2) : '–'), sort: n => n.speed},
    {name: 'Clock', n: 1, text: n => (Math.abs(n.clock_ahead_seconds) > 0.1 ? duration(n.clock_ahead_seconds) : '±0'), sort: n => n.clock_ahead_seconds},
    {name: 'Note', long: 1, text: n => n.cause || n.capacity_why || ''}], n => n.id);
  view.replaceChildren(h('h1', {}, 'Cluster'), summary, h('h2', {}, 'Racks'), racks.element, h('h2', {}, 'Workers'), nodes.element);
  watch({
    '/nodes': all => {
      const live = all.filter(n => n.state !== 'dead'), sum = f => live.reduce((total, n) => total + (f(n) || 0), 0);
      summary.replaceChildren(numbers([['workers ready', count(all.filter(n => n.state === 'ready').length)], ['lost or dead', count(all.filter(n => n.state === 'dead' || n.state === 'lost').length)],
        ['tasks running', count(sum(n => n.running))], ['slots', count(sum(n => n.capacity.cpu))], ['map outputs held', bytes(sum(n => n.store_memory_bytes + n.store_disk_bytes))]]));
      nodes.set(all);
    },
    '/racks': all => racks.set(all)
  });
}

function jobsView() {
  const progress = new Map();
  const left = j => { const part = progress.get(j.id); return j.state !== 'running' || !part ? null : j.seconds * (1 - part) / part; };
  const table = new Table('Jobs, the newest first', [
    {name: 'Job', n: 1, text: j => link('/jobs/' + j.id, j.id), sort: j => j.id}, {name: 'Name', text: j => link('/jobs/' + j.id, j.name)},
    {name: 'State', text: j => stateOf(j.state)},
    {name: 'Progress', text: j => (j.state === 'finished' ? '' : progress.has(j.id) ? bar(progress.get(j.id), `progress of job ${j.id}`) : '–'), sort: j => progress.get(j.id) ?? -1},
    {name: 'Left', n: 1, text: j => (left(j) == null ? '' : 'about ' + duration(left(j))), sort: j => left(j) ?? -1},
    {name: 'Time', n: 1, text: j => duration(j.seconds), sort: j => j.seconds}, {name: 'Age', n: 1, text: j => duration(j.submitted_seconds_ago), sort: j => j.submitted_seconds_ago},
    {name: 'User', text: j => j.user}, {name: 'Pool', text: j => j.pool},
    {name: 'Deadline', n: 1, text: j => (j.deadline_seconds_left == null ? '' : h('span', {class: j.deadline_seconds_left < 0 ? 'bad' : null}, duration(j.deadline_seconds_left))), sort: j => j.deadline_seconds_left ?? 1e18},
    {name: 'Input', n: 1, text: j => bytes(j.input_bytes), sort: j => j.input_bytes}, {name: 'Shuffle', n: 1, text: j => bytes(j.shuffle_bytes), sort: j => j.shuffle_bytes},
    {name: 'Error', long: 1, text: j => j.error}], j => j.id, {order: 0, down: true});
  const summary = h('div');
  view.replaceChildren(h('h1', {}, 'Jobs'), summary, table.element);
  let watched = '';
  const note = job => { progress.set(job.id, part(job.stages)); table.draw(); };
  const onJobs = jobs => {
    const of = state => count(jobs.filter(j => j.state === state).length);
    summary.replaceChildren(numbers([['running', of('running')], ['finished', of('finished')], ['failed', of('failed')], ['killed', of('killed')]]));
    table.set(jobs);
    const running = jobs.filter(j => j.state === 'running').slice(-12).map(j => '/jobs/' + j.id);
    if (running.join() === watched) return;
    watched = running.join();
    watch(Object.fromEntries([['/jobs', onJobs], ...running.map(name => [name, note])]));
  };
  watch({'/jobs': onJobs});
}
function part(stages) {
  const tasks = stages.reduce((sum, stage) => sum + stage.tasks, 0);
  return tasks ? stages.reduce((sum, stage) => sum + stage.finished, 0) / tasks : 0;
}

const kColours = {read: '#009e73', finished: '#0072b2', running: '#56b4e9', failed: '#d55e00', killed: '#8a8f98', lost: '#cc79a7', speculative: '#e69f00'};

/// Attempts over time, a line for each slot of each worker.
class Timeline {
  constructor() {
    this.canvas = h('canvas', {height: 60, role: 'img', 'aria-label': 'Tasks over time by worker and slot; the table below has the same'});
    this.hint = h('p', {class: 'dim', 'aria-hidden': true}, ' ');
    const legend = h('div', {class: 'legend'}, ['finished', 'running', 'speculative', 'failed', 'killed', 'lost'].map(name => {
      const swatch = h('i');
      swatch.style.background = kColours[name];
      return h('span', {}, swatch, name);
    }));
    this.element = h('div', {}, legend, this.canvas, this.hint);
    this.canvas.addEventListener('mousemove', event => this.point(event));
  }
  set(tasks, workers, seconds) {
    const names = new Map(workers.map(worker => [worker.node, worker.name]));
    const lanes = [...new Set(tasks.map(task => task.node * 65536 + task.slot))].sort((a, b) => a - b);
    const lane = new Map(lanes.map((key, at) => [key, at]));
    const height = Math.max(1, Math.min(14, Math.floor(900 / Math.max(1, lanes.length))));
    const width = this.canvas.clientWidth || 1000, ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = Math.max(20, lanes.length * height) * ratio;
    this.canvas.style.height = this.canvas.height / ratio + 'px';
    const draw = this.canvas.getContext('2d');
    draw.scale(ratio, ratio);
    const scale = width / Math.max(seconds, 0.001);
    for (const task of tasks) {
      const from = task.launched_seconds * scale, to = (task.ended_seconds ?? seconds) * scale;
      draw.fillStyle = task.speculative && (task.fate === 'running' || task.fate === 'finished') ? kColours.speculative : kColours[task.fate];
      draw.fillRect(from, lane.get(task.node * 65536 + task.slot) * height, Math.max(to - from - (to - from > 3 ? 0.5 : 0), 0.5), Math.max(height - 1, 1));
    }
    this.known = {tasks, lanes, height, scale, names, seconds};
  }
  point(event) {
    const {tasks, lanes, height, scale, names, seconds} = this.known || {};
    if (!tasks) return;
    const at = event.offsetX / scale, lane = lanes[Math.floor(event.offsetY / height)];
    const found = tasks.find(task => task.node * 65536 + task.slot === lane && task.launched_seconds <= at && (task.ended_seconds ?? seconds) >= at);
    this.hint.textContent = found ? `${duration(at)}: task ${found.stage}.${found.task}, attempt ${found.attempt} on ${names.get(found.node) ?? found.node}, slot ${found.slot}: ${found.fate}${found.speculative ? ', speculative' : ''} after ${duration((found.ended_seconds ?? seconds) - found.launched_seconds)}` : duration(at);
  }
}

/// Stages as a graph from left to right; edges with the bytes of the shuffle.
function graph(stages, inputsOf) {
  const by = new Map(stages.map(stage => [stage.id, stage])), level = new Map();
  const levelOf = id => {
    if (!level.has(id)) { level.set(id, 0); level.set(id, Math.max(0, ...(inputsOf.get(id) || []).filter(input => by.has(input)).map(input => levelOf(input) + 1))); }
    return level.get(id);
  };
  const places = new Map(), rows = [];
  for (const stage of stages) {
    const column = levelOf(stage.id);
    rows[column] = (rows[column] ?? -1) + 1;
    places.set(stage.id, [20 + column * 250, 14 + rows[column] * 70]);
  }
  const width = 40 + rows.length * 250, height = 30 + 70 * Math.max(...rows.map(row => row + 1), 1);
  const parts = [];
  for (const stage of stages)
    for (const input of inputsOf.get(stage.id) || []) {
      if (!places.has(input)) continue;
      const [x, y] = places.get(input), [to, down] = places.get(stage.id);
      parts.push(s('path', {class: 'edge', d: `M${x + 180},${y + 22} C${x + 215},${y + 22} ${to - 35},${down + 22} ${to},${down + 22}`}),
          s('text', {class: 'dim', x: x + 184, y: y + 16}, bytes(by.get(input).shuffle_bytes)));
    }
  for (const stage of stages) {
    const [x, y] = places.get(stage.id), name = stage.name.length > 24 ? stage.name.slice(0, 23) + '…' : stage.name;
    parts.push(s('g', {}, s('title', {}, `${stage.name}: ${stage.finished} of ${stage.tasks} tasks`), s('rect', {class: 'box', x, y, width: 180, height: 44, rx: 5}),
        s('rect', {class: 'done', x, y, width: 180 * (stage.tasks ? stage.finished / stage.tasks : 0), height: 44, rx: 5}),
        s('text', {x: x + 8, y: y + 18}, `${stage.id} ${name}`), s('text', {class: 'dim', x: x + 8, y: y + 35}, `${count(stage.finished)} of ${count(stage.tasks)}${stage.running ? `, ${count(stage.running)} run` : ''}`)));
  }
  return h('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Stages as a graph; the table below has the same'}, s('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${stages.length} stages`}, parts));
}

function jobView(id) {
  const title = h('h1', {}, `Job ${id}`), summary = h('div'), dag = h('div'), found = h('ul', {class: 'findings'}), why = h('p', {class: 'dim'}), logs = h('div'), note = h('p', {class: 'dim'});
  const timeline = new Timeline(), of = new Map();  // of: what the attempts of a stage tell
  const q = (stage, name, at) => quantile(of.get(stage.id)?.[name] || [], at);
  const stages = new Table('Stages', [
    {name: 'Stage', n: 1, text: t => t.id, sort: t => t.id}, {name: 'Name', text: t => t.name}, {name: 'State', text: t => stateOf(t.state)},
    {name: 'Tasks', text: t => bar(t.tasks ? t.finished / t.tasks : 0, `progress of stage ${t.id}`), sort: t => t.finished / t.tasks},
    {name: 'Done', n: 1, text: t => `${count(t.finished)} of ${count(t.tasks)}`, sort: t => t.finished}, {name: 'Running', n: 1, text: t => count(t.running), sort: t => t.running},
    {name: 'Failed', n: 1, text: t => count(t.failed_attempts), sort: t => t.failed_attempts}, {name: 'Speculative', n: 1, text: t => (t.speculative_attempts ? `${t.speculative_won} of ${t.speculative_attempts} won` : ''), sort: t => t.speculative_attempts},
    {name: 'Median', n: 1, text: t => duration(q(t, 'time', 0.5) ?? t.mean_task_seconds), sort: t => q(t, 'time', 0.5) ?? 0}, {name: '95 %', n: 1, text: t => duration(q(t, 'time', 0.95)), sort: t => q(t, 'time', 0.95) ?? 0},
    {name: 'Longest', n: 1, text: t => duration(q(t, 'time', 1)), sort: t => q(t, 'time', 1) ?? 0}, {name: 'Input', n: 1, text: t => bytes(t.input_bytes), sort: t => t.input_bytes},
    {name: 'Shuffle', n: 1, text: t => bytes(t.shuffle_bytes), sort: t => t.shuffle_bytes}, {name: 'Skew', n: 1, text: t => (of.get(t.id)?.skew ? of.get(t.id).skew.toFixed(1) + ' ×' : '–'), sort: t => of.get(t.id)?.skew ?? 0},
    {name: 'Peak memory', n: 1, text: t => bytes(t.peak_task_memory_bytes), sort: t => t.peak_task_memory_bytes}, {name: 'Waits for', long: 1, text: t => t.reason}], t => t.id, {plain: true});
  const attempts = new Table('Attempts', [
    {name: 'Task', text: t => `${t.stage}.${t.task}`, sort: t => t.stage * 1e7 + t.task}, {name: 'Attempt', n: 1, text: t => t.attempt, sort: t => t.attempt}, {name: 'Worker', text: t => names.get(t.node) ?? t.node},
    {name: 'Fate', text: t => h('span', {class: mood(t.fate)}, t.fate + (t.speculative ? ', speculative' : ''))}, {name: 'From', n: 1, text: t => duration(t.launched_seconds), sort: t => t.launched_seconds},
    {name: 'Took', n: 1, text: t => (t.ended_seconds == null ? '' : duration(t.ended_seconds - t.launched_seconds)), sort: t => (t.ended_seconds ?? 1e18) - t.launched_seconds},
    {name: 'Input', n: 1, text: t => (t.input_bytes == null ? '' : bytes(t.input_bytes)), sort: t => t.input_bytes ?? -1}, {name: 'Output', n: 1, text: t => (t.output_bytes == null ? '' : bytes(t.output_bytes)), sort: t => t.output_bytes ?? -1},
    {name: 'Waited for shuffle', n: 1, text: t => duration(t.shuffle_seconds), sort: t => t.shuffle_seconds ?? -1}, {name: 'Peak memory', n: 1, text: t => (t.peak_memory_bytes ? bytes(t.peak_memory_bytes) : ''), sort: t => t.peak_memory_bytes ?? -1},
    {name: 'Why', long: 1, text: t => t.why || ''}], t => `${t.stage}.${t.task}.${t.attempt}`);
  const counters = new Table('Counters', [{name: 'Counter', text: c => c[0]}, {name: 'Value', n: 1, text: c => count(c[1]), sort: c => c[1]}], c => c[0], {plain: true});
  const names = new Map();
  const kill = h('button', {type: 'button', hidden: true, onclick: async () => {
    if (!confirm(`End job ${id}?`)) return;
    try { await ask(`/jobs/${id}?reason=${encodeURIComponent('killed on the page')}`, {method: 'DELETE', headers: {'X-Weft': '1'}}); } catch (error) { say(error.message, true); }
  }}, 'End this job');
  const showLogs = h('button', {type: 'button', onclick: async () => {
    try {
      logs.replaceChildren(...(await ask(`/jobs/${id}/logs`)).map(log => h('div', {}, h('h3', {}, log.node), h('pre', {tabindex: 0}, log.error || log.text))));
      if (!logs.firstChild) logs.append('No worker has output of it.');
    } catch (error) { say(error.message, true); }
  }}, 'Show output of its tasks');
  const detail = h('div', {hidden: true}, h('h2', {}, 'Timeline'), timeline.element, h('h2', {}, 'Attempts'), attempts.element);
  const tools = [kill, showLogs, h('a', {href: `/api/v1/jobs/${id}/trace`, download: `job-${id}-trace.json`}, 'Trace for Perfetto'), link(`/api/v1/jobs/${id}`, 'JSON')];
  view.replaceChildren(title, summary, h('div', {class: 'tools'}, report ? [] : tools),
      found, why, h('h2', {}, 'Stages'), dag, stages.element, note, detail, h('h2', {}, 'Counters'), counters.element, logs);

  let job = null, inputsOf = new Map(), tasks = [], busy = false, again = false;
  const drawStages = () => { if (job) { stages.set(job.stages); dag.replaceChildren(job.stages.length ? graph(job.stages, inputsOf) : ''); } };
  /// From the first attempt on that ran when we last asked: those before it do not change any more.
  async function readTasks() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      let from = tasks.findIndex(task => task.fate === 'running'), page;
      if (from < 0) from = tasks.length;
      do {
        page = await ask(`/jobs/${id}/tasks?from=${from}&count=50000`);
        tasks.length = from;
        for (const task of page.tasks) tasks.push(task);
        from = tasks.length;
      } while (from < page.total && page.tasks.length);
      for (const worker of page.workers) names.set(worker.node, worker.name ?? worker.node);
      inputsOf = new Map(page.stages.map(stage => [stage.id, stage.inputs]));
      of.clear();
      for (const task of tasks) {
        if (task.fate !== 'finished') continue;
        if (!of.has(task.stage)) of.set(task.stage, {time: []});
        of.get(task.stage).time.push(task.ended_seconds - task.launched_seconds);
      }
      for (const stage of of.values()) stage.time.sort((a, b) => a - b);
      for (const stage of page.stages) {
        const sizes = [...stage.partition_bytes].sort((a, b) => a - b), typical = quantile(sizes, 0.5);
        if (typical && of.has(stage.id)) of.get(stage.id).skew = sizes[sizes.length - 1] / typical;
      }
      detail.hidden = false;
      timeline.set(tasks, page.workers, page.seconds);
      attempts.set(tasks);
      drawStages();
      const findings = await ask(`/jobs/${id}/findings`);
      found.replaceChildren(...findings.map(one => h('li', {}, h('b', {}, one.kind.replaceAll('_', ' ')), ': ' + one.finding, h('div', {class: 'dim'}, one.advice))));
    } catch (error) { note.textContent = error.message; }
    busy = false;
    if (again) { again = false; readTasks(); }
  }
  const onJob = now => {
    job = now;
    title.textContent = `Job ${id}: ${job.name}`;
    document.title = `${job.name} – weft`;
    kill.hidden = job.state !== 'running';
    const p = part(job.stages);
    summary.replaceChildren(numbers([['state', stateOf(job.state)], ['progress', percent(job.state === 'finished' ? 1 : p)], ['time', duration(job.seconds)],
      ...(job.state === 'running' && p ? [['left, about', duration(job.seconds * (1 - p) / p)]] : []), ['user', job.user || '–'], ['pool', job.pool || '–'],
      ...(job.deadline_seconds_left == null ? [] : [['to the deadline', duration(job.deadline_seconds_left)]]),
      ['input', bytes(job.input_bytes)], ['shuffle', bytes(job.shuffle_bytes)], ['prefetched', bytes(job.prefetch.prefetched_bytes)], ['wasted', bytes(job.prefetch.wasted_bytes)], ['evicted', bytes(job.prefetch.evicted_bytes)]]),
      job.error ? h('p', {class: 'bad'}, job.error) : '', job.expected ? h('p', {class: 'dim'}, job.expected.outlook) : '');
    drawStages();
    readTasks();
    ask(`/jobs/${id}/counters`).then(all => counters.set(Object.entries(all)), () => {});
  };
  onJob.trouble = error => { title.textContent = `Job ${id}`; summary.replaceChildren(h('p', {class: 'bad'}, error)); };
  const onExplain = now => { why.textContent = now.summary || ''; };
  onExplain.trouble = () => {};
  watch({[`/jobs/${id}`]: onJob, [`/jobs/${id}/explain`]: onExplain});
}

function poolsView() {
  const most = g => Math.max(g.fair_share, g.used, g.demand, 1e-9);
  const past = new Map();  // use and share over time, by pool
  const spark = g => {
    const points = past.get(g.name) || [], top = Math.max(...points.map(p => Math.max(p[0], p[1])), 1e-9);
    const path = at => points.map((p, i) => `${i ? 'L' : 'M'}${(i * 160 / 119).toFixed(1)},${(26 - 24 * p[at] / top).toFixed(1)}`).join('');
    return s('svg', {width: 160, height: 28, role: 'img', 'aria-label': `use and fair share of ${g.name} over the last two minutes`}, s('path', {d: path(1), class: 'edge', 'stroke-dasharray': '3 2'}), s('path', {d: path(0), fill: 'none', stroke: '#0072b2', 'stroke-width': 1.6}));
  };
  const table = new Table('Pools and queues: what they use, against their fair shares', [
    {name: 'Pool', text: g => g.name || '(none)'}, {name: 'Below', text: g => g.parent}, {name: 'Weight', n: 1, text: g => (g.known ? g.weight : '–'), sort: g => g.weight}, {name: 'Guaranteed', n: 1, text: g => g.guaranteed, sort: g => g.guaranteed},
    {name: 'Fair share', n: 1, text: g => g.fair_share.toPrecision(3), sort: g => g.fair_share}, {name: 'Limit', n: 1, text: g => g.limit ?? ''}, {name: 'Used', text: g => bar(g.used / most(g), `use of ${g.name}`), sort: g => g.used}, {name: 'Demand', n: 1, text: g => g.demand.toPrecision(3), sort: g => g.demand},
    {name: 'Over time (dashed: share)', text: spark}, {name: 'Jobs', n: 1, text: g => count(g.jobs), sort: g => g.jobs}, {name: 'Running', n: 1, text: g => count(g.running_tasks), sort: g => g.running_tasks}, {name: 'Waiting', n: 1, text: g => count(g.waiting_tasks), sort: g => g.waiting_tasks}], g => g.name, {plain: true});
  view.replaceChildren(h('h1', {}, 'Pools and queues'), table.element);
  let last = [];
  const note = () => { for (const g of last) { const points = past.get(g.name) || []; points.push([g.used, g.fair_share]); past.set(g.name, points.slice(-120)); } table.set(last); };
  clearInterval(stale);
  stale = setInterval(note, 1000);
  watch({'/pools': groups => { last = groups; note(); }});
}

function filesView() {
  const path = new URLSearchParams(location.search).get('path') || '/';
  const health = h('div'), table = new Table('Entries', [
    {name: 'Name', text: f => (f.type === 'directory' ? link('/files?path=' + encodeURIComponent(f.path), f.path.split('/').pop() + '/') : f.path.split('/').pop())}, {name: 'Size', n: 1, text: f => (f.type === 'directory' ? count(f.entries) + ' entries' : bytes(f.bytes)), sort: f => f.bytes ?? -1},
    {name: 'Replicas', n: 1, text: f => f.replication ?? '', sort: f => f.replication ?? 0}, {name: 'Chunks', n: 1, text: f => (f.chunks == null ? '' : count(f.chunks)), sort: f => f.chunks ?? 0}, {name: 'User', text: f => f.user}, {name: 'Modified', text: f => new Date(f.modified_ms).toISOString().slice(0, 16).replace('T', ' ')}], f => f.path);
  const workers = new Table('Workers that keep chunks', [{name: 'Worker', text: w => w.name}, {name: 'Rack', text: w => w.rack}, {name: 'Chunks', n: 1, text: w => count(w.chunks), sort: w => w.chunks}, {name: 'Used', n: 1, text: w => bytes(w.used), sort: w => w.used}, {name: 'Free', n: 1, text: w => bytes(w.free), sort: w => w.free},
    {name: 'State', text: w => (w.draining ? `draining, ${count(w.to_move)} to move` : w.reported ? 'ready' : 'reporting')}], w => w.id, {plain: true});
  const steps = path.split('/').filter(Boolean), crumbs = [link('/files', '/')];
  steps.forEach((step, at) => crumbs.push(link('/files?path=' + encodeURIComponent('/' + steps.slice(0, at + 1).join('/')), step), ' / '));
  view.replaceChildren(h('h1', {}, 'Files'), health, h('p', {}, crumbs), table.element, h('h2', {}, 'Workers'), workers.element);
  const none = error => health.replaceChildren(h('p', {class: 'dim'}, error));
  const onReport = r => {
    health.replaceChildren(numbers([['files', count(r.files)], ['directories', count(r.directories)], ['chunks', count(r.chunks)], ['missing', h('span', {class: r.missing_chunks ? 'bad' : null}, count(r.missing_chunks))], ['too few replicas', h('span', {class: r.under_replicated ? 'warn' : null}, count(r.under_replicated))], ['damaged replicas', count(r.corrupt_replicas)], ['being copied', count(r.copies)]]), r.safe_mode ? h('p', {class: 'warn'}, 'Safe mode: nothing is copied or erased.') : '');
    workers.set(r.workers);
  };
  const onFiles = all => table.set(all);
  onReport.trouble = none;
  onFiles.trouble = none;
  ask('/files?path=' + encodeURIComponent(path)).then(onFiles, error => none(error.message));
  watch({'/files/report': onReport, ...(/[,?=&%]/.test(path) ? {} : {['/files?path=' + path]: onFiles})});
}

function tablesView(name) {
  const note = h('p', {class: 'dim'}), none = error => { note.textContent = error; };
  const table = name ? new Table('Partitions', [{name: 'Partition', n: 1, text: p => p.at, sort: p => p.at}, {name: 'Primary', text: p => p.primary || '–'}, {name: 'In sync', text: p => p.replicas.filter(r => r.in_sync).map(r => r.worker).join(', ')}, {name: 'Behind', text: p => p.replicas.filter(r => !r.in_sync).map(r => r.worker).join(', ')}, {name: 'Epoch', n: 1, text: p => p.epoch, sort: p => p.epoch}, {name: 'Size', n: 1, text: p => bytes(p.bytes), sort: p => p.bytes}, {name: 'Fault', long: 1, text: p => p.fault}], p => p.at)
    : new Table('Tables', [{name: 'Table', text: t => link('/tables/' + encodeURIComponent(t.name), t.name)}, {name: 'Partitions', n: 1, text: t => count(t.partitions), sort: t => t.partitions}, {name: 'Replicas', n: 1, text: t => t.replication, sort: t => t.replication}, {name: 'Snapshots', n: 1, text: t => t.snapshots, sort: t => t.snapshots}, {name: 'Size', n: 1, text: t => bytes(t.bytes), sort: t => t.bytes},
      {name: 'State', text: t => (t.down_partitions ? h('span', {class: 'bad'}, `${t.down_partitions} partitions cannot be used`) : t.short_partitions ? h('span', {class: 'warn'}, `${t.short_partitions} partitions lack replicas`) : h('span', {class: 'good'}, 'healthy'))}], t => t.name);
  view.replaceChildren(h('h1', {}, name ? `Table ${name}` : 'Tables'), note, table.element);
  const on = name ? one => table.set(one.partition_list.map((p, at) => ({...p, at}))) : all => table.set(all);
  on.trouble = none;
  watch({[name ? '/tables/' + name : '/tables']: on});
}

function schedulerView() {
  const summary = h('div'), known = new Table('Schedulers there are', [{name: 'Scheduler', text: k => k[0]}, {name: 'What it does', long: 1, text: k => k[1]}], k => k[0], {plain: true});
  view.replaceChildren(h('h1', {}, 'Scheduler'), summary, known.element);
  watch({'/scheduler': info => {
    summary.replaceChildren(numbers([['in force', info.scheduler ?? '–'], ['decisions refused', count(info.refused_decisions)], ['calls failed', count(info.faults)]]), info.last_fault ? h('p', {class: 'bad'}, info.last_fault) : '');
    known.set(Object.entries(info.known));
  }});
}

// ---- where we are -----------------------------------------------------------------------------------------------------

function show() {
  clearInterval(stale);
  const [, first, second] = location.pathname.split('/').map(decodeURIComponent);
  document.title = 'weft';
  for (const item of document.querySelectorAll('nav a')) {
    const here = (item.pathname.split('/')[1] || '') === (first === 'nodes' ? '' : first || '');
    if (here) item.setAttribute('aria-current', 'page'); else item.removeAttribute('aria-current');
  }
  document.querySelector('nav').hidden = !!report;
  if (report) jobView(report.job);
  else if (first === 'jobs') second ? jobView(second) : jobsView();
  else if (first === 'pools') poolsView();
  else if (first === 'files') filesView();
  else if (first === 'tables') tablesView(second);
  else if (first === 'scheduler') schedulerView();
  else clusterView();
}
document.addEventListener('click', event => {
  const to = event.target.closest('a');
  if (!to || event.ctrlKey || event.metaKey || event.shiftKey || event.button || to.hasAttribute('download') || to.origin !== location.origin || to.pathname.startsWith('/api/') || to.hash) return;
  event.preventDefault();
  history.pushState(null, '', to.href);
  show();
  view.focus({preventScroll: true});
  scrollTo(0, 0);
});
addEventListener('popstate', show);
document.getElementById('theme').addEventListener('click', () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  localStorage.setItem('theme', document.documentElement.dataset.theme = dark ? 'light' : 'dark');
});
if (localStorage.getItem('theme')) document.documentElement.dataset.theme = localStorage.getItem('theme');
show();
