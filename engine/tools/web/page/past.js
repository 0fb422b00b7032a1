// The cluster over the last hour, day or week: pictures of the same time below each other, what happened, and what ran at a moment.
'use strict';

const kColumns = 360;  // of a picture, which is stretched
const kNamed = 7;      // users or pools with a colour of their own
const kHues = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a800', '#8a8f98'];
const kSpans = {hour: 3600, day: 86400, week: 604800};
const kMostRan = 12;   // jobs that are named

const kPictures = [
  {title: 'Slots', of: 'slots', words: n => +n.toFixed(1)},
  {title: 'Tasks that wait', lines: [['pending', 'waiting']], words: n => count(n)},
  {title: 'Processors', lines: [['processors', 'in use']], words: n => n.toFixed(1)},
  {title: 'Memory of workers', lines: [['memory_bytes', 'in use']], of: 'memory_of_bytes', words: bytes},
  {title: 'Network', lines: [['network_in', 'in'], ['network_out', 'out'], ['cross_rack', 'between racks']], words: rate},
  {title: 'Uplinks of racks', racks: true, words: rate},
  {title: 'Map outputs', lines: [['shuffle_memory_bytes', 'in memory'], ['shuffle_disk_bytes', 'on disk']], words: bytes},
  {title: 'Disk', lines: [['disk_read', 'read'], ['disk_written', 'written']], words: rate}];

class ClusterPast {
  constructor() {
    Object.assign(this, {span: 'hour', by: 'users', jobs: [], at: null});  // at: the moment that is pointed at, as a part of the picture
    const button = (name, what, of) => h('button', {type: 'button', 'aria-pressed': String(this[what] === of), onclick: event => {
      this[what] = of;
      for (const one of event.target.parentNode.children) one.setAttribute('aria-pressed', String(one === event.target));
      this.read();
    }}, name);
    this.running = new Table('Jobs that run', [{name: 'Job', n: 1, text: j => link('/jobs/' + j.id, j.id), sort: j => j.id}, {name: 'Name', clip: 1, text: j => link('/jobs/' + j.id, nameOf(j))}, {name: 'User', clip: 1, text: j => j.user}, {name: 'Pool', clip: 1, has: j => j.pool, text: j => j.pool},
      {name: 'Tasks done', text: j => bar(part(j), `progress of job ${j.id}`, tasks(j)), sort: part}, {name: 'Running', n: 1, text: j => count(j.running_tasks), sort: j => j.running_tasks}, {name: 'Time', n: 1, live: 1, text: j => duration(took(j)), sort: took}, {name: 'Left, about', n: 1, live: 1, text: j => (left(j) == null ? '' : duration(left(j)))}], j => j.id, {plain: true, order: 0, none: 'No job runs.'});
    this.pictures = h('div', {class: 'pictures'});
    this.moment = h('input', {type: 'range', min: 0, max: kColumns, value: kColumns, 'aria-label': 'A moment of the pictures above', oninput: event => this.point(event.target.value / kColumns)});
    this.ran = h('p', {role: 'status'});
    this.events = h('ul', {class: 'happened'});
    this.pools = h('span', {class: 'tools', hidden: true}, button('By user', 'by', 'users'), button('By pool', 'by', 'pools'));
    this.early = h('p', {class: 'dim', hidden: true});
    this.shown = h('div', {hidden: true}, this.pictures, this.moment, this.ran, this.events);
    this.element = h('section', {}, h('h2', {}, 'Jobs that run'), this.running.element, h('h2', {}, 'What happened'), h('div', {class: 'tools'}, h('span', {class: 'tools'}, Object.keys(kSpans).map(name => button('Last ' + name, 'span', name))), this.pools), this.early, this.shown);
    this.pictures.addEventListener('pointermove', event => { const on = event.target.closest('svg'); if (on) { const box = on.getBoundingClientRect(); this.point((event.clientX - box.left) / box.width); } });
    this.read();
    const again = setInterval(() => (this.element.isConnected ? this.read() : clearInterval(again)), 10000);
  }
  setJobs(jobs) {
    this.jobs = jobs;
    this.running.set(jobs.filter(job => job.state === 'running'));
  }
  async read() {
    try {
      this.past = await ask('/past?span=' + this.span);
      this.draw();
    } catch (error) {
      this.early.hidden = false;
      this.early.textContent = error.message;
    }
  }
  draw() {
    const {past} = this, ago = past.seconds_ago;
    this.shown.hidden = ago.length < 2;
    this.early.hidden = !this.shown.hidden;
    this.early.textContent = `A point of the last ${this.span} stands for ${duration(past.step_seconds)}, and this master has not run for so long.`;
    if (this.shown.hidden) return;
    this.length = Math.min(kSpans[this.span], Math.max(60, ago[0]));
    this.pools.hidden = !past.pools.some(pool => pool.name);
    this.pictures.replaceChildren(...kPictures.map(kind => this.picture(kind)).filter(one => one));
    const shown = past.events.filter(event => event.seconds_ago <= this.length).slice(-8).reverse();
    this.events.replaceChildren(...shown.map(event => h('li', {}, h('span', {class: 'dim'}, `${duration(Math.round(event.seconds_ago))} ago: `), event.job ? link('/jobs/' + event.job, event.text) : h('span', {class: event.kind === 'worker_lost' ? 'bad' : null}, event.text))));
    this.point(this.at ?? 1);
  }
  x(seconds) { return kColumns * (1 - seconds / this.length); }
  /// Where no sample was taken for three steps, the line ends and begins again.
  path(values, top, base) {
    const {seconds_ago: ago, step_seconds: step} = this.past, points = values.map((value, at) => [this.x(ago[at]), 78 - 74 * value / top, at]).filter(([x]) => x >= -1);
    const gap = (a, b) => ago[a] - ago[b] > 3 * step, xy = ([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`;
    if (!base) return points.map((point, at) => (at && !gap(points[at - 1][2], point[2]) ? 'L' : 'M') + xy(point)).join('');
    const pieces = [];
    points.forEach((point, at) => { if (!at || gap(points[at - 1][2], point[2])) pieces.push([]); pieces.at(-1).push(point); });
    return pieces.map(piece => 'M' + piece.map(xy).join('L') + 'L' + piece.slice().reverse().map(([x, , at]) => xy([x, 78 - 74 * base[at] / top])).join('L') + 'Z').join('');
  }
  /// What is drawn: names with their values; of slots, the users or pools with the most.
  linesOf(kind) {
    if (kind.racks) return this.past.racks.length < 2 ? [] : this.past.racks.map(rack => [rack.name, rack.uplink, rack.limit]).filter(([, values]) => values.some(value => value > 0));
    if (kind.lines) return kind.lines.map(([name, said]) => [said, this.past.series[name]]).filter(([, values]) => values.some(value => value > 0));
    const sum = values => values.reduce((a, b) => a + b, 0), all = this.past[this.by].map(one => [one.name || '(none)', one.slots]).sort((a, b) => sum(b[1]) - sum(a[1]));
    const rest = all.slice(kNamed);
    return [...all.slice(0, kNamed), ...(rest.length ? [['others', rest[0][1].map((_, at) => rest.reduce((total, [, slots]) => total + slots[at], 0))]] : [])];
  }
  picture(kind) {
    const lines = this.linesOf(kind), limit = kind.of ? this.past.series[kind.of] : null, stacked = !kind.lines && !kind.racks, limits = kind.racks ? lines.map(line => line[2]) : [];
    if (!lines.length && !stacked) return null;
    const sums = this.past.seconds_ago.map((_, at) => lines.reduce((total, [, values]) => (stacked ? total + values[at] : Math.max(total, values[at])), 0));
    const top = Math.max(...sums, ...(limit ?? []), ...limits.flat(), 1e-9), base = sums.map(() => 0), parts = [];
    lines.forEach(([name, values], at) => {
      const colour = kHues[at % kHues.length];
      if (!stacked) {
        const line = s('path', {class: 'line', d: this.path(values, top)});
        line.style.stroke = colour;  // not as an attribute: the page's policy forbids styles in its text
        return parts.push(line);
      }
      const upper = values.map((value, i) => base[i] + value);
      parts.push(s('path', {d: this.path(upper, top, base.slice()), fill: colour}, s('title', {}, name)));
      upper.forEach((value, i) => { base[i] = value; });
    });
    limits.forEach((values, at) => {
      if (!values.some(value => value > 0)) return;
      const line = s('path', {class: 'line', 'stroke-dasharray': '4 3', d: this.path(values, top)}, s('title', {}, `what the uplink of ${lines[at][0]} carries`));
      line.style.stroke = kHues[at % kHues.length];
      parts.push(line);
    });
    if (limit) parts.push(s('path', {class: 'edge', 'stroke-dasharray': '4 3', d: this.path(limit, top)}));
    for (const event of this.past.events.filter(one => one.seconds_ago <= this.length)) parts.push(s('path', {class: event.kind === 'worker_joined' ? 'axis' : 'happened', d: `M${this.x(event.seconds_ago).toFixed(1)},0V80`}, s('title', {}, event.text)));
    const rule = s('path', {class: 'now'}), values = h('span', {class: 'legend'}), latest = lines.map(([name, all]) => `${name} ${kind.words(all.at(-1))}`).join(', ');
    const element = h('figure', {}, h('figcaption', {}, h('b', {}, kind.title + (stacked ? (this.by === 'users' ? ' by user' : ' by pool') : '')), values),
      s('svg', {viewBox: `0 0 ${kColumns} 80`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${kind.title} over the last ${duration(this.length)}: now ${latest || 'none'}; at most ${kind.words(Math.max(...sums))}`}, s('path', {class: 'axis', d: `M0,78.5H${kColumns}`}), parts, rule));
    element.point = (at, x) => {
      rule.setAttribute('d', `M${x.toFixed(1)},0V80`);
      const said = lines.map(([name, all, carries], i) => [`${name} ${kind.words(all[at])}${carries?.[at] ? ` of ${kind.words(carries[at])}` : ''}`, kHues[i % kHues.length], all[at]]).filter(([, , value], i) => value > 0 || i === 0);
      values.replaceChildren(...said.map(([text, colour]) => { const swatch = h('i'); swatch.style.background = colour; return h('span', {}, swatch, text); }), ...(limit ? [h('span', {}, 'of ' + kind.words(limit[at]))] : []));
    };
    return element;
  }
  /// Says of a moment what each picture has there, and which jobs ran.
  point(part) {
    if (!this.length) return;
    this.at = part > 0.995 ? null : Math.max(0, part);
    const ago = this.at == null ? 0 : this.length * (1 - this.at), all = this.past.seconds_ago;
    const near = all.reduce((best, seconds, at) => (Math.abs(seconds - ago) < Math.abs(all[best] - ago) ? at : best), 0);
    for (const picture of this.pictures.children) picture.point(near, this.x(ago));
    this.moment.value = kColumns * (this.at ?? 1);
    const slack = this.past.step_seconds / 2, ran = this.jobs.filter(job => age(job) >= ago - slack && age(job) - took(job) <= ago + slack);
    const when = this.at == null ? 'Now' : `${duration(Math.round(ago))} ago (${new Date(Date.now() - 1000 * ago).toLocaleString('sv').slice(this.span === 'hour' ? 11 : 0, 16 + 3 * (this.span === 'hour'))})`;
    const names = ran.slice(-kMostRan).reverse().flatMap((job, at) => [at ? ', ' : '', link('/jobs/' + job.id, `job ${job.id} ${nameOf(job)}`), ` of ${job.user}`]);
    this.ran.replaceChildren(when + ': ', ...(ran.length ? ['ran ', ...names, ran.length > kMostRan ? ` and ${count(ran.length - kMostRan)} more` : ''] : ['no job ran']), '.');
  }
}
