#include "engine/simulator/accounts.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/clock.hpp"

namespace weft::simulator {

namespace {

constexpr std::size_t kUsersDrawn = 8;
constexpr double kNothing = 1e-9;  // of a fair share: what is left of sums of fractions

double jain(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (double value : values) sum += value, squares += value * value;
  return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1;
}

}  // namespace

Accounts::Accounts(const Workload& workload, Time series_step, Time window)
    : step_(series_step), window_(window), window_end_(window), sample_end_(series_step), shares_(workload.jobs.size()) {
  result_.workload = workload.name;
  result_.series.step = series_step;
  result_.fairness.window = window;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const JobSpec& spec = workload.jobs[i];
    JobResult& job = result_.jobs.emplace_back();
    job.index = i;
    job.name = spec.name;
    job.user = spec.options.user;
    job.pool = spec.options.pool;
    job.submitted = spec.arrival;
    if (spec.deadline) job.deadline = spec.arrival + *spec.deadline;
    for (const StageSpec& stage : spec.stages) {
      job.tasks += stage.tasks;
      job.input_bytes += stage.input_bytes;
      job.shuffle_bytes += stage.shuffle_bytes;
      job.output_bytes += stage.output_bytes;
    }
    result_.tasks += job.tasks;
    user_of_.push_back(users_.try_emplace(spec.options.user, users_.size()).first->second);
  }
  if (step_ > Time(0)) choose_users(workload);
}

void Accounts::choose_users(const Workload& workload) {
  std::vector<std::pair<std::uint64_t, std::string>> by_tasks;
  for (const auto& [name, user] : users_) by_tasks.emplace_back(0, name);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const auto at = users_.find(workload.jobs[i].options.user);
    by_tasks[static_cast<std::size_t>(std::distance(users_.begin(), at))].first += result_.jobs[i].tasks;
  }
  std::ranges::stable_sort(by_tasks, std::greater<>(), [](const auto& user) { return user.first; });
  drawn_as_.resize(users_.size());
  std::vector<std::string>& drawn = result_.series.users;
  for (const auto& [tasks, name] : by_tasks) {
    const bool alone = drawn.size() + 1 < kUsersDrawn || by_tasks.size() == kUsersDrawn;
    if (alone) drawn.push_back(name);
    if (!alone && drawn.size() < kUsersDrawn) drawn.emplace_back("others");
    drawn_as_[users_.at(name)] = drawn.size() - 1;
  }
  running_of_users_.resize(drawn.size());
}

void Accounts::pass(Time span) {
  const double length = in_seconds(span);
  used_area_ += used_ * length;
  if (first_arrival_ != Time::max()) capacity_area_ += capacity_ * length;
  if (jobs_running_ > 0) fair_area_ += length / jobs_running_;
  if (step_ <= Time(0)) return;
  sample_filled_ += span;
  sample_.used += used_ * length;
  sample_.capacity += capacity_ * length;
  sample_.running_tasks += running_ * length;
  sample_.pending_tasks += waiting_ * length;
  sample_.running_jobs += jobs_running_ * length;
  sample_.tasks_of_users.resize(running_of_users_.size());
  for (std::size_t i = 0; i < running_of_users_.size(); ++i) sample_.tasks_of_users[i] += running_of_users_[i] * length;
}

void Accounts::advance(Time now, const Meters& meters) {
  while (now_ < now) {
    Time next = now;
    if (window_ > Time(0)) next = std::min(next, window_end_);
    if (step_ > Time(0)) next = std::min(next, sample_end_);
    pass(next - now_);
    now_ = next;
    if (window_ > Time(0) && now_ == window_end_) close_window(now_);
    if (step_ > Time(0) && now_ == sample_end_) close_sample(meters());
  }
}

void Accounts::close_sample(Moved moved) {
  const double length = std::max(1e-9, in_seconds(sample_filled_));
  for (auto* amounts : {&sample_.used, &sample_.capacity}) *amounts = *amounts * (1 / length);
  for (double* mean : {&sample_.running_tasks, &sample_.pending_tasks, &sample_.running_jobs}) *mean /= length;
  for (double& mean : sample_.tasks_of_users) mean /= length;
  sample_.traffic = moved.traffic;
  for (std::size_t kind = 0; kind < kTrafficKinds; ++kind) sample_.traffic[kind] -= moved_before_.traffic[kind];
  moved_before_.racks.resize(moved.racks.size());
  for (std::size_t i = 0; i < moved.racks.size(); ++i) {
    const RackTraffic& before = moved_before_.racks[i];
    sample_.racks.push_back({moved.racks[i].up - before.up, moved.racks[i].down - before.down});
  }
  moved_before_ = std::move(moved);
  result_.series.samples.push_back(std::exchange(sample_, {}));
  sample_filled_ = Time(0);
  sample_end_ += step_;
}

void Accounts::update(Share& share, Time now) const {
  share.area += share.share * in_seconds(now - share.since);
  share.since = now;
}

void Accounts::close_window(Time end) {
  const Time begin = end - window_;
  window_end_ = end + window_;
  std::vector<double> of_jobs, of_users(users_.size(), -1), of_fair_shares;
  for (std::size_t index : active_) {
    Share& share = shares_[index];
    update(share, end);
    const Time from = std::max(begin, share.active_since), until = std::min(end, share.active_until);
    if (until > from) {
      of_jobs.push_back(share.area / in_seconds(until - from));
      if (share.active) share.fair_area = fair_area_ - share.fair_from;
      if (share.area > kNothing * share.fair_area) of_fair_shares.push_back(std::min(1.0, share.area / share.fair_area));
      double& user = of_users[user_of_[index]];
      user = std::max(user, 0.0) + share.area;
    }
    share.area = 0;
    share.fair_from = fair_area_;
  }
  std::erase_if(active_, [this](std::size_t index) { return !shares_[index].active; });
  std::erase_if(of_users, [](double area) { return area < 0; });
  note_jain(of_jobs, result_.fairness.jobs, jain_jobs_);
  note_jain(of_users, result_.fairness.users, jain_users_);
  note_jain(of_fair_shares, result_.fairness.fair_shares, jain_fair_shares_);
}

void Accounts::note_jain(const std::vector<double>& values, std::vector<double>& windows, JainSum& sum) {
  windows.push_back(values.size() < 2 ? 1 : jain(values));
  if (values.size() < 2) return;
  sum.sum += windows.back();
  ++sum.windows;
}

void Accounts::job_arrived(std::size_t index, std::uint64_t tasks) {
  Share& share = shares_[index];
  share.active = true;
  share.since = share.active_since = now_;
  share.fair_from = fair_area_;
  share.unfinished = tasks;
  active_.insert(std::upper_bound(active_.begin(), active_.end(), index), index);
  ++jobs_running_;
  waiting_ += static_cast<double>(tasks);
  first_arrival_ = std::min(first_arrival_, now_);
}

void Accounts::job_ended(std::size_t index, Time now, Outcome outcome, std::string error) {
  JobResult& job = result_.jobs[index];
  job.ended = now;
  job.outcome = outcome;
  job.error = std::move(error);
  Share& share = shares_[index];
  update(share, now);
  share.active = false;  // counted once more, in this window
  share.active_until = now;
  share.fair_area = fair_area_ - share.fair_from;
  share.share = 0;
  --jobs_running_;
  waiting_ -= static_cast<double>(share.unfinished);
  share.unfinished = 0;
  last_end_ = std::max(last_end_, now);
  ++sample_.jobs_finished;
}

void Accounts::set_used(std::size_t job, const schedulers::Resources& used, Time now) {
  Share& share = shares_[job];
  update(share, now);
  share.used = used;
  share.share = schedulers::dominant_share(used, capacity_);
}

void Accounts::attempt_started(std::size_t job, const schedulers::Resources& demand, Time now, bool speculative) {
  used_ += demand;
  ++running_;
  if (!drawn_as_.empty()) ++running_of_users_[drawn_as_[user_of_[job]]];
  if (!speculative) --waiting_;
  set_used(job, shares_[job].used + demand, now);
  JobResult& result = result_.jobs[job];
  if (!result.started) result.started = now;
  ++result.attempts;
  if (speculative) ++result.speculative;
}

void Accounts::attempt_ended(std::size_t job, const schedulers::Resources& demand, bool speculative) {
  used_ -= demand;
  --running_;
  if (!drawn_as_.empty()) --running_of_users_[drawn_as_[user_of_[job]]];
  if (!speculative) ++waiting_;
  if (running_ == 0) used_ = {};  // no drift of sums of fractions
  set_used(job, shares_[job].used - demand, now_);
}

void Accounts::task_finished(std::size_t job) {
  --waiting_;
  --shares_[job].unfinished;
  ++sample_.tasks_finished;
}

void Accounts::task_undone(std::size_t job) {
  ++waiting_;
  ++shares_[job].unfinished;
}

RunResult Accounts::finish(Time now, const Meters& meters) {
  advance(now, meters);
  if (window_ > Time(0) && now_ > window_end_ - window_) {
    // The last window is a part of one: shares are means over what there was of it.
    window_ = now_ - (window_end_ - window_);
    close_window(now_);
  }
  if (step_ > Time(0) && sample_filled_ > Time(0)) close_sample(meters());
  RunResult& out = result_;
  out.end = now;
  out.traffic = meters().traffic;
  out.makespan = first_arrival_ == Time::max() ? Time(0) : std::max(last_end_, first_arrival_) - first_arrival_;
  for (const JobResult& job : out.jobs) {
    out.locality += job.locality;
    out.work += job.work;
    out.launches += job.attempts;
    out.preemptions += job.preemptions;
    out.failed_attempts += job.failed_attempts;
    out.speculative += job.speculative;
  }
  for (const auto& kind : schedulers::kResourceKinds) {
    const double all = capacity_area_.*kind.amount;
    out.utilisation.*kind.amount = all > 0 ? used_area_.*kind.amount / all : 0;
  }
  const auto mean = [](const JainSum& sum, double& value) {
    if (sum.windows > 0) value = sum.sum / static_cast<double>(sum.windows);
  };
  mean(jain_jobs_, out.fairness.mean_jobs);
  mean(jain_users_, out.fairness.mean_users);
  mean(jain_fair_shares_, out.fairness.mean_fair_shares);
  return std::move(result_);
}

}  // namespace weft::simulator
