// Views of the cluster, and which of them an address shows.
'use strict';

// ---- views ------------------------------------------------------------------------------------------------------------

function clusterView() {
  const summary = h('div'), racks = new Table('Racks', [
    {name: 'Rack', text: r => r.rack}, {name: 'Workers', n: 1, text: r => count(r.workers), sort: r => r.workers},
    {name: 'Running', n: 1, text: r => `${count(r.running)} of ${count(r.slots)}`, sort: r => r.running},
    {name: 'Out', n: 1, text: r => rate(r.cross_rack_up), sort: r => r.cross_rack_up}, {name: 'In', n: 1, text: r => rate(r.cross_rack_down), sort: r => r.cross_rack_down},
    {name: 'Uplink', n: 1, text: r => rate(r.uplink_up || r.most_cross_rack_up), sort: r => r.uplink_up},
    {name: 'NetSat', text: r => bar(r.in_use, `NetSat of ${r.rack}: the part of its uplink in use`), sort: r => r.in_use}], r => r.rack, {plain: true});
  const saturation = new Map();  // by rack: ShuffleWatcher's NetSat
  const nodes = new Table('Workers', [
    {name: 'Name', text: n => n.name}, {name: 'Rack', text: n => n.rack}, {name: 'Host', text: n => n.host}, {name: 'State', text: n => stateOf(n.state)},
    {name: 'Slots in use', text: n => bar(n.running / (n.capacity.cpu || n.slots || 1), `slots of ${n.name} in use`), sort: n => n.running / (n.capacity.cpu || 1)},
    {name: 'Running', n: 1, text: n => `${n.running} of ${n.capacity.cpu ?? n.slots}`, sort: n => n.running},
    {name: 'Processors', n: 1, text: n => (n.measured.machine.memory ? `${(n.measured.worker.cpu || 0).toFixed(1)} of ${(n.measured.machine.cpu || 0).toFixed(1)}` : '–'), sort: n => n.measured.worker.cpu || 0},
    {name: 'Memory', n: 1, text: n => (n.measured.worker.memory ? bytes(n.measured.worker.memory) : '–'), sort: n => n.measured.worker.memory || 0},
    {name: 'Map outputs', n: 1, text: n => `${bytes(n.store_memory_bytes)} + ${bytes(n.store_disk_bytes)} on disk`, sort: n => n.store_memory_bytes + n.store_disk_bytes},
    {name: 'Network', n: 1, text: n => `${rate(n.measured.machine.network_in)} in, ${rate(n.measured.machine.network_out)} out`, sort: n => n.measured.machine.network_in || 0},
    {name: 'NetSat', n: 1, live: 1, text: n => percent(saturation.get(n.rack)), sort: n => saturation.get(n.rack) ?? -1},
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
    '/racks': all => {
      for (const rack of all) saturation.set(rack.rack, rack.in_use);
      racks.set(all);
      nodes.draw();
    }
  });
}

function jobsView() {
  const progress = new Map();
  const took = j => (j.state === 'running' ? j.seconds + since(j) : j.seconds), age = j => j.submitted_seconds_ago + since(j);
  const toDeadline = j => (j.deadline_seconds_left == null ? null : j.deadline_seconds_left - (j.state === 'running' ? since(j) : 0));
  const left = j => { const part = progress.get(j.id); return j.state !== 'running' || !part ? null : took(j) * (1 - part) / part; };
  const table = new Table('Jobs, the newest first', [
    {name: 'Job', n: 1, text: j => link('/jobs/' + j.id, j.id), sort: j => j.id}, {name: 'Name', text: j => link('/jobs/' + j.id, j.name)},
    {name: 'State', text: j => stateOf(j.state)},
    {name: 'Progress', live: 1, text: j => (j.state === 'finished' ? '' : progress.has(j.id) ? bar(progress.get(j.id), `progress of job ${j.id}`) : '–'), sort: j => progress.get(j.id) ?? -1},
    {name: 'Left', n: 1, live: 1, text: j => (left(j) == null ? '' : 'about ' + duration(left(j))), sort: j => left(j) ?? -1},
    {name: 'Time', n: 1, live: 1, text: j => duration(took(j)), sort: took}, {name: 'Age', n: 1, live: 1, text: j => duration(age(j)), sort: age},
    {name: 'User', text: j => j.user}, {name: 'Pool', text: j => j.pool},
    {name: 'Deadline', n: 1, live: 1, text: j => (toDeadline(j) == null ? '' : h('span', {class: toDeadline(j) < 0 ? 'bad' : null}, duration(toDeadline(j)))), sort: j => toDeadline(j) ?? 1e18},
    {name: 'Input', n: 1, text: j => bytes(j.input_bytes), sort: j => j.input_bytes}, {name: 'Shuffle', n: 1, text: j => bytes(j.shuffle_bytes), sort: j => j.shuffle_bytes},
    {name: 'Error', long: 1, text: j => j.error}], j => j.id, {order: 0, down: true});
  const summary = h('div');
  view.replaceChildren(h('h1', {}, 'Jobs'), summary, table.element);
  let watched = '';
  const note = job => progress.set(job.id, part(job.stages));  // drawn with the clocks
  const onJobs = jobs => {
    const of = state => count(jobs.filter(j => j.state === state).length);
    summary.replaceChildren(numbers([['running', of('running')], ['finished', of('finished')], ['failed', of('failed')], ['killed', of('killed')]]));
    table.set(jobs);
    const running = jobs.filter(j => j.state === 'running').slice(-12).map(j => '/jobs/' + j.id);
    if (running.join() === watched) return;
    watched = running.join();
    watchBesides(Object.fromEntries(running.map(name => [name, note])));
  };
  stale = setInterval(() => table.draw(), 1000);
  watch({'/jobs': onJobs});
}
function part(stages) {
  const tasks = stages.reduce((sum, stage) => sum + stage.tasks, 0);
  return tasks ? stages.reduce((sum, stage) => sum + stage.finished, 0) / tasks : 0;
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
    {name: 'Over time (dashed: share)', live: 1, text: spark}, {name: 'Jobs', n: 1, text: g => count(g.jobs), sort: g => g.jobs}, {name: 'Running', n: 1, text: g => count(g.running_tasks), sort: g => g.running_tasks}, {name: 'Waiting', n: 1, text: g => count(g.waiting_tasks), sort: g => g.waiting_tasks}], g => g.name, {plain: true});
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
  if (report) new JobView(report.job).watch();
  else if (first === 'jobs') second ? new JobView(second).watch() : jobsView();
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
