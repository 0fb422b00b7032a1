// The scheduler: which one is in force, who waits for what, and what another one would have done with the jobs of the last hour.
'use strict';

const kExplained = 20;  // jobs that wait of which is shown why

/// Running jobs with tasks that wait, and what these wait for.
class Waiting {
  constructor() {
    const why = row => h('span', {}, row.groups.slice(0, 3).map(group => h('div', {}, `${count(group.tasks)} of stage ${group.stage} ${group.name}: ${group.reason}`)));
    this.table = new Table('Running jobs whose tasks wait', [{name: 'Job', n: 1, text: r => link('/jobs/' + r.id, r.id), sort: r => r.id}, {name: 'Name', clip: 1, text: r => link('/jobs/' + r.id, r.name)}, {name: 'User', clip: 1, text: r => r.user}, {name: 'Pool', clip: 1, has: r => r.pool, text: r => r.pool},
      {name: 'Running', n: 1, text: r => count(r.running), sort: r => r.running}, {name: 'Waiting', n: 1, text: r => count(r.waiting), sort: r => r.waiting}, {name: 'What for', long: 1, text: why}], r => r.id, {plain: true, none: 'No task waits.'});
    this.note = h('p', {class: 'dim'});
    this.element = h('section', {}, h('h2', {}, 'Who waits for what'), this.table.element, this.note, h('p', {class: 'dim'}, 'Slots by user and pool over time: ', link('/', 'Cluster'), '; shares: ', link('/pools', 'Pools'), '.'));
    this.look = atMostEvery(2, () => this.explain());
  }
  set(jobs) {
    this.jobs = jobs.filter(job => job.state === 'running' && job.tasks > job.finished_tasks + job.running_tasks);
    this.note.textContent = this.jobs.length > kExplained ? `${count(kExplained)} of ${count(this.jobs.length)} such jobs are shown.` : '';
    this.look();
  }
  async explain() {
    const rows = await Promise.all(this.jobs.slice(0, kExplained).map(job => ask(`/jobs/${job.id}/explain`).then(
        said => ({id: job.id, name: nameOf(job), user: job.user, pool: job.pool, running: said.running, groups: said.waiting, waiting: said.waiting.reduce((sum, group) => sum + group.tasks, 0)}), () => null)));
    if (this.element.isConnected) this.table.set(rows.filter(row => row?.waiting));
  }
}

/// The question to `weft advise`, and its answer.
class Advice {
  constructor() {
    const over = (name, of) => ({name, n: 1, text: c => (c.scheduler === this.present ? '1' : this.ratio(of(c))), sort: c => of(c)?.ratio?.mean ?? 1, has: c => of(c)});
    this.span = h('select', {'aria-label': 'Of which jobs'}, [['1h', 'the last hour'], ['6h', 'the last six hours'], ['24h', 'the last day'], ['0s', 'all that the event log has']].map(([value, text]) => h('option', {value}, text)));
    this.button = h('button', {type: 'button', onclick: () => this.ask()}, 'Simulate');
    this.status = h('span', {class: 'dim', role: 'status'});
    this.said = h('div');
    this.table = new Table('Times over those under the present scheduler: below 1 is better', [{name: 'Scheduler', text: c => h(c.scheduler === this.recommended ? 'b' : 'span', {}, c.scheduler + (c.scheduler === this.present ? ' (present)' : ''))}, over('Mean completion time', c => c.completion_mean), over('95th percentile', c => c.completion_p95), over('Makespan', c => c.makespan),
      {name: 'Deadlines missed', n: 1, has: c => c.deadlines_missed, text: c => percent(c.deadlines_missed?.value.mean), sort: c => c.deadlines_missed?.value.mean ?? 0}, over('Bytes between racks', c => c.cross_rack_bytes), {name: 'Jobs that take longer', n: 1, text: c => (c.scheduler === this.present ? '' : percent(c.jobs_slower)), sort: c => c.jobs_slower},
      {name: 'Whom it costs most', text: c => (c.scheduler === this.present ? '' : `${c.worst_user || 'nobody'} ${c.worst_user_ratio.toFixed(2)}`), sort: c => c.worst_user_ratio}, {name: 'Against it', long: 1, has: c => c.objection, text: c => c.objection ?? ''}], c => c.scheduler, {plain: true, told: 1});
    this.table.element.hidden = true;
    this.element = h('section', {}, h('h2', {}, 'What another scheduler would have done'), h('p', {class: 'dim'}, 'Runs the jobs of the event log in the simulator, under every scheduler, for about a minute and in the background (weft advise).'),
        h('div', {class: 'tools'}, h('label', {}, 'Jobs of ', this.span), this.button, this.status), this.said, this.table.element);
    this.look();
  }
  ratio(figure) { return figure?.ratio ? figure.ratio.mean.toFixed(2) + (figure.ratio.half_width > 0 ? ' ±' + figure.ratio.half_width.toFixed(2) : '') : '–'; }
  async ask() {
    try {
      this.show(await ask('/advice', {method: 'POST', headers: {'X-Weft': '1', 'Content-Type': 'application/json'}, body: JSON.stringify({span: this.span.value})}));
    } catch (error) { this.say(error.message, true); }
  }
  async look() {
    try { this.show(await ask('/advice')); } catch (error) { this.say(error.message, false); }
  }
  say(text, bad) {
    this.status.textContent = text;
    this.status.className = bad ? 'bad' : 'dim';
  }
  show(answer) {
    this.button.disabled = answer.state === 'running';
    if (answer.state === 'running') {
      this.say(`simulating for ${duration(answer.seconds_ago)} …`);
      setTimeout(() => { if (this.element.isConnected) this.look(); }, 1000);
    }
    if (answer.state === 'failed') this.say(answer.error, true);
    if (answer.state !== 'answered') return;
    const {present, recommended, reason, candidates, accuracy, warnings} = answer.advice, best = candidates.find(one => one.scheduler === recommended);
    Object.assign(this, {present, recommended});
    this.say(`asked ${duration(answer.seconds_ago)} ago, of ${answer.span_seconds ? 'the last ' + duration(answer.span_seconds) : 'all jobs'}`);
    const use = recommended === present ? `Stay with ${present}. ${reason ?? ''}` : `Use ${recommended} in place of ${present}: the mean completion time would have been ${this.ratio(best.completion_mean)} of what it was.`;
    const error = accuracy ? ` The simulator under ${accuracy.scheduler}, as it really was: ${duration(accuracy.simulated_mean)} in the mean for ${count(accuracy.jobs)} jobs that took ${duration(accuracy.recorded_mean)}.` : '';
    this.said.replaceChildren(h('p', {}, h('b', {}, use), error), ...warnings.map(one => h('p', {class: 'warn'}, one)));
    this.table.element.hidden = false;
    this.table.set(candidates);
  }
}

function schedulerView() {
  const summary = h('div'), waiting = new Waiting(), advice = new Advice();
  const known = new Table('Schedulers there are', [{name: 'Scheduler', text: k => k[0]}, {name: 'What it does', long: 1, text: k => k[1]}], k => k[0], {plain: true});
  view.replaceChildren(h('h1', {}, 'Scheduler'), summary, waiting.element, advice.element, h('h2', {}, 'Schedulers there are'), known.element);
  watch({'/scheduler': info => {
    summary.replaceChildren(numbers([['in force', info.scheduler ?? '–'], ['decisions refused', count(info.refused_decisions)], ['calls failed', count(info.faults)]]), info.last_fault ? h('p', {class: 'bad'}, info.last_fault) : '');
    known.set(Object.entries(info.known));
  }, '/jobs': jobs => waiting.set(jobs)});
}
