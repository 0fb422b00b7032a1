// The page of a weft master: views of what /api/v1 answers, live by server-sent events. Everything from outside becomes text nodes
// or attributes, never HTML. Tables keep their rows from one update to the next, so that focus, selection and scrolling stay.
'use strict';

const view = document.getElementById('view'), statusLine = document.getElementById('status');
// A report is this page with what it shows inside, and without a server.
const report = document.getElementById('data') && JSON.parse(document.getElementById('data').textContent);
// A page of event logs: there is no master to ask.
const of = document.documentElement.dataset.of, logs = of === 'logs' || of === 'growing';
const kRows = 200;       // of a table, until more are asked for
const kPartOfFrame = 6;  // milliseconds of the 16 that a frame has

// ---- text -------------------------------------------------------------------------------------------------------------

/// Bytes and times as the command line shows them (human_bytes() and human_duration() in base/text.cpp); of very short times, more.
function bytes(n) {
  if (n == null) return '–';
  if (n < 1000) return Math.round(n) + ' B';
  let unit = 0;
  while (n >= 999.5 && unit < 6) { n /= 1024; ++unit; }
  return n.toFixed(n < 9.995 ? 2 : n < 99.95 ? 1 : 0) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'][unit];
}
function duration(s) {
  if (s == null) return '–';
  if (s < 0) return '−' + duration(-s);
  if (s < 0.9995) return (s && s < 0.00995 ? (s * 1000).toPrecision(2) : Math.round(s * 1000)) + ' ms';
  if (s < 59.95) return s.toFixed(1) + ' s';
  const whole = Math.round(s), two = n => String(n).padStart(2, '0');
  return whole < 3600 ? `${Math.floor(whole / 60)} min ${two(whole % 60)} s` : `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} min`;
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
const bar = (part, label, said) => h('span', {class: 'use'}, h('progress', {max: 1, value: Math.min(1, part || 0), 'aria-label': label}), ' ' + (said ?? percent(part)));
const mood = state => ({running: '', ready: 'good', finished: 'good', done: 'good', failed: 'bad', dead: 'bad', lost: 'bad', killed: 'warn', excluded: 'warn', leaving: 'warn'}[state] || '');
const stateOf = state => h('span', {class: mood(state)}, state);

const collator = new Intl.Collator('en', {numeric: true});
const compare = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b)));

/// A table whose rows are known by their keys. `columns`: {name, text(row) -> text or node, sort?(row), n: numbers, live: the text
/// depends on more than the row, has?(row): without any of these the column is not shown, long: several lines, clip: one line that is
/// cut off}. `options.told`: the caption is shown, not only read to those who do not see it. What else is in a row's cells is made anew only when the row is another object than before.
class Table {
  constructor(caption, columns, key, options = {}) {
    Object.assign(this, {columns, key, rows: [], known: new Map(), said: new WeakMap(), filled: 0, shown: kRows, filter: '', order: options.order, down: options.down});
    this.body = h('tbody');
    this.more = h('button', {type: 'button', hidden: true, onclick: () => { this.shown += 1000; this.draw(); }});
    this.note = h('span', {class: 'dim', role: 'status'});
    this.none = h('p', {class: 'dim', hidden: true});
    this.noneSaid = options.none ?? 'None.';
    const heads = columns.map((column, at) => h('th', {scope: 'col', class: column.n ? 'n' : null, hidden: !!column.has},
        h('button', {type: 'button', onclick: () => this.sort(at)}, column.name)));
    this.heads = heads;
    this.filterBox = h('input', {type: 'search', placeholder: 'filter', 'aria-label': 'Filter ' + caption, oninput: event => { this.filter = event.target.value.toLowerCase(); this.draw(); }});
    this.element = h('section', {}, options.plain ? null : h('div', {class: 'tools'}, this.filterBox, this.note),
        h('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption}, h('table', {}, h('caption', {class: options.told ? null : 'unseen'}, caption), h('thead', {}, h('tr', {}, heads)), this.body)), this.none, this.more);
  }
  sort(at) {
    this.down = this.order === at ? !this.down : !!this.columns[at].n;
    this.order = at;
    this.draw();
  }
  set(rows) { this.rows = rows; this.draw(); }
  draw() {
    let rows = this.rows;
    if (this.filter) rows = rows.filter(row => this.words(row).includes(this.filter));
    if (this.order != null) {
      const column = this.columns[this.order], value = column.sort || (row => { const cell = column.text(row); return cell instanceof Node ? cell.textContent : cell; });
      const keyed = rows.map(row => [value(row), row]);
      keyed.sort(([a], [b]) => compare(a, b) * (this.down ? -1 : 1));
      rows = keyed.map(([, row]) => row);
    }
    this.columns.forEach((column, at) => {
      if (!column.has || this.heads[at].hidden !== this.rows.some(column.has)) return;
      for (const cell of [this.heads[at], ...[...this.known.values()].map(tr => tr.children[at])]) cell.hidden = !cell.hidden;
    });
    this.heads.forEach((head, at) => head.setAttribute('aria-sort', at !== this.order ? 'none' : this.down ? 'descending' : 'ascending'));
    const total = rows.length;
    this.none.hidden = total > 0;
    this.none.textContent = this.rows.length ? 'Nothing matches the filter.' : this.noneSaid;
    rows = rows.slice(0, this.shown);
    this.note.textContent = total > rows.length ? `${count(rows.length)} of ${count(total)} shown` : '';
    this.more.hidden = total <= rows.length;
    this.more.textContent = `Show more of ${count(total)}`;
    const kept = new Map(), old = [];
    let place = this.body.firstChild;
    for (const row of rows) {
      const key = String(this.key(row));
      let tr = this.known.get(key);
      if (!tr) tr = h('tr', {'data-key': key}, this.columns.map((column, at) => h('td', {hidden: this.heads[at].hidden, class: ['n', 'long', 'clip'].filter(name => column[name]).join(' ') || null})));
      kept.set(key, tr);
      old.push([tr, row]);
      if (tr === place) place = place.nextSibling; else this.body.insertBefore(tr, place);
    }
    while (place) { const next = place.nextSibling; place.remove(); place = next; }
    this.known = kept;
    // Where the last time ended before all were filled, these are first: so that each has its turn, however often this is called.
    const first = old.length ? this.filled % old.length : 0;
    cancelAnimationFrame(this.filling);
    this.fillRows([...old.slice(first), ...old.slice(0, first)], 0, first);
  }
  /// As many rows as take a part of a frame, and the others in the frames after it, so that scrolling stays smooth.
  fillRows(rows, from, first) {
    const until = report || document.hidden ? Infinity : performance.now() + kPartOfFrame;  // where no frames come: all
    let at = from;
    for (; at < rows.length && performance.now() < until; ++at) {
      const [tr, row] = rows[at], same = tr.row === row;
      tr.row = row;
      this.columns.forEach((column, cell) => { if (!same || column.live) this.setCell(tr.children[cell], column.text(row)); });
    }
    this.filled = at < rows.length ? first + at : 0;
    if (at < rows.length) this.filling = requestAnimationFrame(() => this.fillRows(rows, at, first));
  }
  words(row) {
    let words = this.said.get(row);
    if (words == null) this.said.set(row, words = JSON.stringify(row).toLowerCase());
    return words;
  }
  setCell(cell, content) {
    const said = content instanceof Node ? content.outerHTML : String(content ?? '');
    if (cell.said === said) return;
    cell.said = said;
    cell.replaceChildren(content instanceof Node ? content : said);
    if (cell.classList.contains('clip')) cell.title = cell.textContent;
  }
}

function numbers(pairs) { return h('ul', {class: 'numbers'}, pairs.map(([label, value]) => h('li', {}, h('b', {}, value), h('span', {}, label)))); }

// ---- what is watched --------------------------------------------------------------------------------------------------

let sources = [], stale = null;  // what the view watches, and what draws its clocks
let others = [];                 // addresses of pages of masters that could lead in the place of this one
/// Asked while there is a master that can say so.
async function askForOthers() {
  if (logs || report) return;
  const all = await ask('/masters').catch(() => null);
  if (all) others = all.masters.filter(one => one.state !== 'leads' && /^https?:/.test(one.page) && new URL(one.page).origin !== location.origin).map(one => new URL(one.page).origin);
}
setInterval(() => { if (sources.some(source => source.readyState === EventSource.OPEN)) askForOthers(); }, 15000);
/// A list of which only differences come: objects by their first members. Each object knows when it came, so that clocks go on.
class LiveList {
  constructor(rows) {
    this.rows = new Map();
    this.add(rows);
  }
  add(rows) {
    const at = performance.now();
    for (const row of rows) this.rows.set(row[this.key ??= Object.keys(row)[0]], {...row, at});
  }
  change({new: fresh, changed, gone}) {
    this.add(fresh);
    this.add(changed.map(row => ({...this.rows.get(row[this.key]), ...row})));
    for (const key of gone) this.rows.delete(key);
  }
  all() { return [...this.rows.values()]; }
}
/// How long ago it came what is known of a row, in seconds.
const since = row => (of === 'logs' || row.at == null ? 0 : (performance.now() - row.at) / 1000);

function watch(handlers) {
  for (const source of sources) source.close();
  const names = Object.keys(handlers);
  sources = [];
  if (report) {
    for (const name of names) if (name in report) handlers[name](report[name]);
    return say('report');
  }
  sources = [subscribe(handlers)];
}
function subscribe(handlers) {
  const names = Object.keys(handlers), lists = new Map();
  const source = new EventSource('/api/v1/events?changes=1&watch=' + encodeURIComponent(names.join(',')));
  for (const name of names) {
    source.addEventListener(name, event => {
      const data = JSON.parse(event.data), list = Array.isArray(data) && data.every(row => row && typeof row === 'object');
      say(of === 'logs' ? 'from logs' : 'live');
      const known = list ? new LiveList(data) : null;
      lists.set(name, known);
      handlers[name](known && known.rows.size === data.length ? known.all() : data);
    });
    source.addEventListener('changes ' + name, event => {
      lists.get(name).change(JSON.parse(event.data));
      handlers[name](lists.get(name).all());
    });
  }
  source.addEventListener('trouble', event => { const trouble = JSON.parse(event.data); (handlers[trouble.resource].trouble || (error => say(error, true)))(trouble.error); });
  let lost = false;
  source.onerror = () => {
    lost = true;
    say(logs ? 'weft history has ended; what is shown is old' : 'the master does not answer; what is shown is old', true);
    offerOthers();
    // A browser tries again by itself, but not after an answer that is none.
    if (source.readyState !== EventSource.CLOSED) return;
    ask('/scheduler').catch(() => {});  // does it want to know who asks?
    setTimeout(() => { if (sources.includes(source)) show(); }, 3000);
  };
  source.onopen = () => {
    if (lost) return show();  // perhaps another master
    say(of === 'logs' ? 'from logs' : 'live');
    askForOthers();
  };
  return source;
}
/// This page cannot ask at another address whether a master leads there: somebody has to follow the link.
function offerOthers() {
  if (!others.length || statusLine.querySelector('a')) return;
  statusLine.append('; another master may lead: ', ...others.flatMap((other, at) => [at ? ', ' : null, link(other + location.pathname + location.search, new URL(other).host)]).filter(Boolean));
}
function say(text, bad) {
  if (statusLine.said !== text) statusLine.replaceChildren(statusLine.said = text);
  statusLine.classList.toggle('bad', !!bad);
}
async function ask(path, options) {
  if (report) return report[path.split('?')[0]];
  const answer = await fetch('/api/v1' + path, options);
  const body = await answer.json();
  if (answer.status === 401) signIn();
  if (!answer.ok) throw new Error(body.error);
  return body;
}
/// The browser keeps the token as a cookie that no script can read.
function signIn() {
  for (const source of sources) source.close();
  sources = [];
  say('not signed in', true);
  const token = h('input', {type: 'password', id: 'token', autocomplete: 'current-password', required: true}), wrong = h('p', {class: 'bad', role: 'alert'});
  const send = async event => {
    event.preventDefault();
    const answer = await fetch('/sign-in', {method: 'POST', headers: {'X-Weft': '1'}, body: token.value});
    if (answer.ok) {
      localStorage.setItem('signed-in', '1');
      return location.reload();
    }
    wrong.textContent = (await answer.json()).error;
    token.select();
  };
  view.replaceChildren(h('h1', {}, 'Sign in'), h('form', {onsubmit: send}, h('p', {}, h('label', {for: 'token'}, 'Token '), token, ' ', h('button', {}, 'Sign in')), wrong),
    h('p', {class: 'dim'}, 'The file token that weft security token issue made for you. A certificate in the browser serves as well.'));
  token.focus();
}
const leave = document.getElementById('leave');
if (leave && localStorage.getItem('signed-in')) {
  leave.hidden = false;
  leave.addEventListener('click', async () => {
    await fetch('/sign-in', {method: 'DELETE', headers: {'X-Weft': '1'}});
    localStorage.removeItem('signed-in');
    location.reload();
  });
}
