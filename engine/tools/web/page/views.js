// Views of the cluster, and which of them an address shows.
'use strict';

// ---- views ------------------------------------------------------------------------------------------------------------

function clusterView() {
  const summary = h('div'), past = logs ? null : new ClusterPast(), racks = new Table('Racks', [
    {name: 'Rack', text: r => r.rack}, {name: 'Workers', n: 1, text: r => count(r.workers), sort: r => r.workers}, {name: 'Lost', n: 1, has: r => r.lost, text: r => (r.lost ? h('span', {class: 'bad'}, count(r.lost)) : ''), sort: r => r.lost},
    {name: 'Running', n: 1, text: r => `${count(r.running)} of ${count(r.slots)}`, sort: r => r.running},
    {name: 'Out', n: 1, text: r => rate(r.cross_rack_up), sort: r => r.cross_rack_up}, {name: 'In', n: 1, text: r => rate(r.cross_rack_down), sort: r => r.cross_rack_down},
    {name: 'Uplink', n: 1, text: r => rate(r.uplink_up || r.most_cross_rack_up), sort: r => r.uplink_up},
    {name: 'NetSat', text: r => bar(r.in_use, `NetSat of ${r.rack}: the part of its uplink in use`), sort: r => r.in_use}], r => r.rack, {plain: true, none: 'No racks: no worker is there.'});
  const masters = new Table('Masters', [
    {name: 'Address', text: m => m.address}, {name: 'State', text: m => h('span', {class: m.state === 'copies' ? 'warn' : 'good'}, m.state)},
    {name: 'Changes behind', n: 1, text: m => (m.state === 'leads' ? '' : count(m.behind))}, {name: 'Member', clip: 1, text: m => m.member}], m => m.member, {plain: true});
  const several = h('div', {hidden: true}, h('h2', {}, 'Masters'), masters.element);  // of one that is alone there is nothing to say
  const saturation = new Map();  // by rack: ShuffleWatcher's NetSat
  const both = (a, b) => (a || b ? `${rate(a)}, ${rate(b)}` : '–');
  const nodes = new Table('Workers. Processors and memory are what they use, of what is used on their machines', [
    {name: 'Name', clip: 1, text: n => n.name}, {name: 'Rack', clip: 1, text: n => n.rack}, {name: 'Host', clip: 1, has: n => n.host !== n.name, text: n => n.host}, {name: 'State', text: n => stateOf(n.state)}, {name: 'Note', long: 1, has: n => n.cause || n.capacity_why, text: n => n.cause || n.capacity_why || ''},
    {name: 'Slots in use', text: n => (n.state === 'dead' ? '' : bar(n.running / (n.capacity.cpu || n.slots || 1), `slots of ${n.name} in use`, `${n.running} of ${n.capacity.cpu || n.slots}`)), sort: n => n.running / (n.capacity.cpu || n.slots || 1)},
    {name: 'Devices held', n: 1, has: n => (n.devices || {}).lent, text: n => ((n.devices || {}).lent ? `${n.devices.held} of ${n.devices.lent - n.devices.excluded}${n.devices.excluded ? `, ${n.devices.excluded} excluded` : ''}` : '–'), sort: n => (n.devices || {}).held || 0},
    {name: 'Processors', n: 1, has: n => n.measured.machine.memory, text: n => (n.measured.machine.memory ? `${(n.measured.worker.cpu || 0).toFixed(1)} of ${(n.measured.machine.cpu || 0).toFixed(1)}` : '–'), sort: n => n.measured.worker.cpu || 0},
    {name: 'Memory', n: 1, has: n => n.measured.worker.memory, text: n => (n.measured.worker.memory ? `${bytes(n.measured.worker.memory)} of ${bytes(n.measured.machine.memory)}` : '–'), sort: n => n.measured.worker.memory || 0},
    {name: 'Map outputs', n: 1, has: n => n.store_memory_bytes || n.store_disk_bytes, text: n => bytes(n.store_memory_bytes) + (n.store_disk_bytes ? ` + ${bytes(n.store_disk_bytes)} on disk` : ''), sort: n => n.store_memory_bytes + n.store_disk_bytes},
    {name: 'Disk: read, written', n: 1, has: n => n.measured.machine.disk_read || n.measured.machine.disk_write, text: n => both(n.measured.machine.disk_read, n.measured.machine.disk_write), sort: n => (n.measured.machine.disk_read || 0) + (n.measured.machine.disk_write || 0)},
    {name: 'Network: in, out', n: 1, has: n => n.measured.machine.network_in || n.measured.machine.network_out, text: n => both(n.measured.machine.network_in, n.measured.machine.network_out), sort: n => n.measured.machine.network_in || 0},
    {name: 'NetSat', n: 1, has: n => !logs, live: 1, text: n => percent(saturation.get(n.rack)), sort: n => saturation.get(n.rack) ?? -1},
    {name: 'Speed', n: 1, has: n => n.speed, text: n => (n.speed ? n.speed.toFixed(2) : '–'), sort: n => n.speed},
    {name: 'Clock', n: 1, has: n => !logs, text: n => (Math.abs(n.clock_ahead_seconds) > 0.1 ? duration(n.clock_ahead_seconds) : '±0'), sort: n => n.clock_ahead_seconds}], n => n.id, {told: 1, none: logs ? 'The logs tell of no worker.' : 'No worker yet: weft worker --master HOST:PORT brings one.'});
  view.replaceChildren(h('h1', {}, 'Cluster'), summary, ...(past ? [past.element] : []), h('h2', {}, 'Racks'), racks.element, h('h2', {}, 'Workers'), nodes.element, several);
  watch({
    ...(logs ? {} : {'/jobs': jobs => past.setJobs(jobs), '/masters': all => {
      several.hidden = !all.cluster;
      masters.set(all.masters);
    }}),
    '/nodes': all => {
      const gone = n => n.state === 'dead' || n.state === 'lost', live = all.filter(n => !gone(n)), sum = f => live.reduce((total, n) => total + (f(n) || 0), 0);
      const held = sum(n => n.store_memory_bytes + n.store_disk_bytes);
      summary.replaceChildren(numbers([['workers ready', count(all.filter(n => n.state === 'ready').length)], ['lost or dead', count(all.filter(gone).length)],
        ['tasks running', count(sum(n => n.running))], ['slots', count(sum(n => n.capacity.cpu))], ...(held ? [['map outputs held', bytes(held)]] : [])]));
      nodes.set(all);
    },
    '/racks': all => {
      for (const rack of all) saturation.set(rack.rack, rack.in_use);
      racks.set(all);
      nodes.draw();
    }
  });
}

/// Of its tasks so far, which part has finished.
const part = job => (job.tasks ? job.finished_tasks / job.tasks : 0);
const took = j => (j.state === 'running' ? j.seconds + since(j) : j.seconds), age = j => j.submitted_seconds_ago + since(j);
const left = j => (j.state !== 'running' || j.seconds_left == null ? null : Math.max(0, j.seconds_left - since(j)));
/// As people know it: by its --name, or else its program's.
const nameOf = j => j.options?.name ?? j.name;
const tasks = j => (!j.tasks ? '–' : j.finished_tasks === j.tasks ? count(j.tasks) : `${count(j.finished_tasks)} of ${count(j.tasks)}`);

function jobsView() {
  const toDeadline = j => (j.deadline_seconds_left == null ? null : j.deadline_seconds_left - (j.state === 'running' ? since(j) : 0));
  const margin = j => (j.state === 'running' ? j.expected?.margin_seconds : null);  // that is expected
  const time = (seconds, bad) => (seconds == null ? '' : h('span', {class: bad ? 'bad' : null}, duration(seconds)));
  const table = new Table('Jobs, the newest first', [
    {name: 'Job', n: 1, text: j => link('/jobs/' + j.id, j.id), sort: j => j.id}, {name: 'Name', clip: 1, text: j => link('/jobs/' + j.id, nameOf(j))},
    {name: 'State', text: j => stateOf(j.state)}, {name: 'Error', long: 1, has: j => j.error, text: j => j.error},
    {name: 'Tasks done', text: j => (j.state === 'running' ? bar(part(j), `progress of job ${j.id}`, tasks(j)) : tasks(j)), sort: j => (j.state === 'finished' ? 1 : part(j))},
    {name: 'Running', n: 1, has: j => j.state === 'running', text: j => (j.state === 'running' ? count(j.running_tasks) : ''), sort: j => (j.state === 'running' ? j.running_tasks : -1)},
    {name: 'Left, about', n: 1, live: 1, has: j => left(j) != null, text: j => time(left(j)), sort: j => left(j) ?? -1},
    {name: 'Time', n: 1, live: 1, text: j => duration(took(j)), sort: took}, {name: 'Submitted', n: 1, live: 1, text: j => duration(age(j)) + ' ago', sort: age},
    {name: 'User', clip: 1, text: j => j.user}, {name: 'Pool', clip: 1, has: j => j.pool, text: j => j.pool},
    {name: 'To deadline', n: 1, live: 1, has: j => j.deadline_seconds_left != null, text: j => time(toDeadline(j), toDeadline(j) < 0), sort: j => toDeadline(j) ?? 1e18},
    {name: 'Expected margin', n: 1, has: j => margin(j) != null, text: j => time(margin(j), margin(j) < 0), sort: j => margin(j) ?? 1e18},
    {name: 'Input', n: 1, text: j => bytes(j.input_bytes), sort: j => j.input_bytes}, {name: 'Shuffle', n: 1, text: j => bytes(j.shuffle_bytes), sort: j => j.shuffle_bytes}], j => j.id, {order: 0, down: true, none: logs ? 'The logs tell of no job.' : 'No job yet: weft submit, or a job program with --cluster, brings some.'});
  const summary = h('div');
  view.replaceChildren(h('h1', {}, 'Jobs'), summary, table.element);
  stale = setInterval(() => table.draw(), 1000);
  watch({'/jobs': jobs => {
    const of = state => count(jobs.filter(j => j.state === state).length);
    summary.replaceChildren(numbers([['running', of('running')], ['finished', of('finished')], ['failed', of('failed')], ['killed', of('killed')]]));
    table.set(jobs);
  }});
}

const kPast = 3600;           // seconds of use and shares that are kept
const poolsPast = new Map();  // use and share, by pool: [when, use, share]

function poolsView() {
  const most = g => Math.max(g.fair_share, g.used, g.guaranteed, 1e-9), amount = x => (Math.abs(x) >= 1000 ? count(x) : +x.toPrecision(3));
  /// What is used, and a mark at the fair share.
  const use = g => h('span', {class: 'use'}, s('svg', {width: 110, height: 14, role: 'img', 'aria-label': `${amount(g.used)} of a fair share of ${amount(g.fair_share)}`},
      s('rect', {class: 'box', x: 0.5, y: 2.5, width: 109, height: 9}), s('rect', {class: 'bar', x: 0.5, y: 2.5, width: 109 * g.used / most(g), height: 9}),
      s('path', {class: 'mark', d: `M${(0.5 + 109 * g.fair_share / most(g)).toFixed(1)},0V14`})));
  let began = performance.now() / 1000;
  const spark = g => {
    const points = poolsPast.get(g.name) || [], top = Math.max(...points.map(p => Math.max(p[1], p[2])), 1e-9), now = performance.now() / 1000, span = Math.max(60, now - began);
    const path = which => points.map((p, i) => `${i ? 'L' : 'M'}${(160 - (now - p[0]) * 160 / span).toFixed(1)},${(30 - 26 * p[which] / top).toFixed(1)}`).join('');
    return h('span', {class: 'use'}, s('svg', {width: 162, height: 32, role: 'img', 'aria-label': `use and fair share of ${g.name} over the last ${duration(span)}`}, s('path', {d: 'M0,30.5H161', class: 'axis'}), s('path', {d: path(2), class: 'edge', 'stroke-dasharray': '4 2'}), s('path', {d: path(1), class: 'line'})),
        h('span', {class: 'dim'}, ` ${duration(Math.round(span))}, most ${amount(top)}`));
  };
  const table = new Table('In the scheduler’s unit. The mark in Use is the fair share', [
    {name: 'Pool', clip: 1, text: g => g.name || '(none)'}, {name: 'Below', clip: 1, has: g => g.parent, text: g => g.parent}, {name: 'Weight', n: 1, text: g => (g.known ? g.weight : '–'), sort: g => g.weight}, {name: 'Guaranteed', n: 1, text: g => g.guaranteed, sort: g => g.guaranteed},
    {name: 'Fair share', n: 1, text: g => amount(g.fair_share), sort: g => g.fair_share}, {name: 'Limit', n: 1, has: g => g.limit != null, text: g => g.limit ?? '–', sort: g => g.limit ?? 1e18}, {name: 'Used', n: 1, text: g => amount(g.used), sort: g => g.used}, {name: 'Use', text: use, sort: g => g.used / most(g)}, {name: 'Demand', n: 1, text: g => amount(g.demand), sort: g => g.demand},
    {name: 'Use over time, and share (dashed)', live: 1, text: spark, sort: g => g.used}, {name: 'Jobs', n: 1, text: g => count(g.jobs), sort: g => g.jobs}, {name: 'Running', n: 1, text: g => count(g.running_tasks), sort: g => g.running_tasks}, {name: 'Waiting', n: 1, text: g => count(g.waiting_tasks), sort: g => g.waiting_tasks}], g => g.name, {plain: true, told: 1, none: 'The scheduler has no pools or queues, or no job names one.'});
  view.replaceChildren(h('h1', {}, 'Pools and queues'), table.element);
  let last = [];
  const note = () => {
    const now = performance.now() / 1000;
    for (const g of last) {
      const points = (poolsPast.get(g.name) || []).filter(p => p[0] > now - kPast), latest = [now, g.used, g.fair_share];
      if (points.length > 1 && points.at(-1)[0] - points.at(-2)[0] < 5) points[points.length - 1] = latest; else points.push(latest);  // as few as are known of before
      poolsPast.set(g.name, points);
      began = Math.min(began, points[0][0]);
    }
    table.set(last);
  };
  ask('/pools/past').then(past => {
    const now = performance.now() / 1000;
    for (const pool of past.pools) poolsPast.set(pool.name, pool.used.map((used, at) => [now - past.seconds_ago[at], used, pool.fair_share[at]]));
  }, () => {});
  clearInterval(stale);
  stale = setInterval(note, 1000);
  watch({'/pools': groups => { last = groups; note(); }});
}

function filesView() {
  const path = new URLSearchParams(location.search).get('path') || '/';
  const health = h('div'), table = new Table('Entries', [
    {name: 'Name', text: f => link('/files?path=' + encodeURIComponent(f.path), f.path.split('/').pop() + (f.type === 'directory' ? '/' : ''))}, {name: 'Size', n: 1, text: f => (f.type === 'directory' ? count(f.entries) + ' entries' : bytes(f.bytes)), sort: f => f.bytes ?? -1},
    {name: 'Replicas', n: 1, text: f => f.replication ?? '', sort: f => f.replication ?? 0}, {name: 'Chunks', n: 1, text: f => (f.chunks == null ? '' : count(f.chunks)), sort: f => f.chunks ?? 0}, {name: 'User', text: f => f.user}, {name: 'Modified', text: f => new Date(f.modified_ms).toISOString().slice(0, 16).replace('T', ' ')}], f => f.path, {none: 'Nothing is in it.'});
  const chunks = new Table('Chunks', [{name: 'From', n: 1, text: c => bytes(c.offset), sort: c => c.offset}, {name: 'Size', n: 1, text: c => bytes(c.bytes), sort: c => c.bytes}, {name: 'State', text: c => h('span', {class: {healthy: 'good', 'under-replicated': 'warn'}[c.state] || 'bad'}, c.state)},
    {name: 'Replicas', n: 1, text: c => `${c.replicas} of ${c.wanted}`, sort: c => c.replicas}, {name: 'On workers', text: c => c.workers.join(', ')}, {name: 'Damaged on', has: c => c.corrupt_on.length, text: c => c.corrupt_on.join(', ')}, {name: 'Chunk', text: c => c.id}], c => c.id, {none: 'It is empty.'});
  const ofFile = h('div', {hidden: true}, h('h2', {}, 'Chunks'), chunks.element);
  const workers = new Table('Workers that keep chunks', [{name: 'Worker', clip: 1, text: w => w.name}, {name: 'Rack', clip: 1, text: w => w.rack}, {name: 'Chunks', n: 1, text: w => count(w.chunks), sort: w => w.chunks}, {name: 'Used', n: 1, text: w => bytes(w.used), sort: w => w.used}, {name: 'Free', n: 1, text: w => bytes(w.free), sort: w => w.free},
    {name: 'State', text: w => (w.draining ? `draining, ${count(w.to_move)} to move` : w.reported ? 'ready' : 'reporting')}], w => w.id, {plain: true, none: 'No worker keeps chunks: weft worker --chunk-dir DIR.'});
  const steps = path.split('/').filter(Boolean), crumbs = [link('/files', '/')];
  steps.forEach((step, at) => crumbs.push(link('/files?path=' + encodeURIComponent('/' + steps.slice(0, at + 1).join('/')), step), ' / '));
  view.replaceChildren(h('h1', {}, 'Files'), health, h('p', {}, crumbs), table.element, ofFile, h('h2', {}, 'Workers that keep chunks'), workers.element);
  const none = error => health.replaceChildren(h('p', {class: 'dim'}, error));
  const onReport = r => {
    health.replaceChildren(numbers([['files', count(r.files)], ['directories', count(r.directories)], ['chunks', count(r.chunks)], ['missing', h('span', {class: r.missing_chunks ? 'bad' : null}, count(r.missing_chunks))], ['too few replicas', h('span', {class: r.under_replicated ? 'warn' : null}, count(r.under_replicated))], ['damaged replicas', count(r.corrupt_replicas)], ['being copied', count(r.copies)]]), r.safe_mode ? h('p', {class: 'warn'}, 'Safe mode: nothing is copied or erased.') : '');
    workers.set(r.workers);
  };
  const onFiles = all => {
    table.set(all);
    ofFile.hidden = !(all.length === 1 && all[0].type === 'file' && all[0].path === path);
    if (!ofFile.hidden) ask('/files/chunks?path=' + encodeURIComponent(path)).then(one => chunks.set(one.chunks), error => none(error.message));
  };
  onReport.trouble = none;
  onFiles.trouble = none;
  ask('/files?path=' + encodeURIComponent(path)).then(onFiles, error => none(error.message));
  watch({'/files/report': onReport, ...(/[,?=&%]/.test(path) ? {} : {['/files?path=' + path]: onFiles})});
}

function tablesView(name) {
  const note = h('p', {class: 'dim'}), none = error => { note.textContent = error; };
  const table = name ? new Table('Partitions', [{name: 'Partition', n: 1, text: p => p.at, sort: p => p.at}, {name: 'Primary', text: p => p.primary || '–'}, {name: 'In sync', text: p => p.replicas.filter(r => r.in_sync).map(r => r.worker).join(', ')}, {name: 'Behind', has: p => p.replicas.some(r => !r.in_sync), text: p => p.replicas.filter(r => !r.in_sync).map(r => r.worker).join(', ')}, {name: 'Epoch', n: 1, text: p => p.epoch, sort: p => p.epoch}, {name: 'Size', n: 1, text: p => bytes(p.bytes), sort: p => p.bytes}, {name: 'Fault', long: 1, has: p => p.fault, text: p => p.fault}], p => p.at, {none: 'It has none yet.'})
    : new Table('Tables', [{name: 'Table', text: t => link('/tables/' + encodeURIComponent(t.name), t.name)}, {name: 'Owner', has: t => t.owner, text: t => t.owner}, {name: 'Partitions', n: 1, text: t => count(t.partitions), sort: t => t.partitions}, {name: 'Replicas', n: 1, text: t => t.replication, sort: t => t.replication}, {name: 'Snapshots', n: 1, text: t => t.snapshots, sort: t => t.snapshots}, {name: 'Size', n: 1, text: t => bytes(t.bytes), sort: t => t.bytes},
      {name: 'State', text: t => (t.down_partitions ? h('span', {class: 'bad'}, `${t.down_partitions} partitions cannot be used`) : t.short_partitions ? h('span', {class: 'warn'}, `${t.short_partitions} partitions lack replicas`) : h('span', {class: 'good'}, 'healthy'))}], t => t.name, {none: 'There is no table: weft table create makes one.'});
  view.replaceChildren(h('h1', {}, name ? `Table ${name}` : 'Tables'), note, table.element);
  const on = name ? one => table.set(one.partition_list.map((p, at) => ({...p, at}))) : all => table.set(all);
  on.trouble = none;
  watch({[name ? '/tables/' + name : '/tables']: on});
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
  if (logs) for (const item of document.querySelectorAll('nav a')) item.hidden = !['/', '/jobs'].includes(item.pathname);
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
  dispatchEvent(new Event('redraw'));
});
let redrawing = 0;
addEventListener('resize', () => { clearTimeout(redrawing); redrawing = setTimeout(() => dispatchEvent(new Event('redraw')), 100); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => dispatchEvent(new Event('redraw')));
if (localStorage.getItem('theme')) document.documentElement.dataset.theme = localStorage.getItem('theme');
show();
