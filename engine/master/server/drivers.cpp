#include "engine/master/server/drivers.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <sys/wait.h>

#include "base/guarded.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/unguessable.hpp"
#include "engine/master/protocol/driver_paths.hpp"

namespace weft::master {
namespace {

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool ended_well(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
/// By its own decision: another start would lead to the same.
bool gave_up(int status) { return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) != protocol::kDriverGaveWay; }

}  // namespace

/// What workers say of the files of one job.
struct Drivers::Inquiry {
  std::vector<Place> places;
  std::size_t missing = 0;  // answers
  bool silent = false;      // a worker has not answered
};

DriverFact fact_of(const DriverState& state) {
  return {state.node,        static_cast<std::uint32_t>(state.died.size()),
          state.key,         state.wanted,
          state.running,     state.files,
          state.needs_files, state.detached,
          state.died};
}

/// An earlier release recorded how often it died and not when: then none of that counts.
DriverState state_of(JobId job, DriverFact fact) {
  return {job,          fact.node,    std::move(fact.died),  fact.key,
          fact.wanted,  fact.running, std::move(fact.files), fact.needs_files,
          fact.detached};
}

std::uint64_t Drivers::new_key() {
  return (unguessable_number() | 1) << client::kDriverStartBits;  // 0 stands for none
}

Drivers::Driver* Drivers::find(JobId job) {
  const auto found = drivers_.find(job);
  return found == drivers_.end() || !jobs_.contains(job) ? nullptr : &found->second;
}

void Drivers::change(Driver& driver) {
  if (changed_) changed_(driver.state);
}

void Drivers::answer(Driver& driver, const Result<void>& how) {
  if (const Started started = std::exchange(driver.started, nullptr)) started(how);
}

bool Drivers::wanted(JobId job) const {
  const auto found = drivers_.find(job);
  return found != drivers_.end() && found->second.state.wanted;
}

std::string Drivers::why_not_started(JobId job) const {
  const auto found = drivers_.find(job);
  return found == drivers_.end() || found->second.failed.empty() ? "" : found->second.why_failed;
}

// ---- beginnings ---------------------------------------------------------------------------------------------------

void Drivers::add(JobId job, std::vector<std::string> files) {
  Driver& driver = drivers_[job];
  driver.state.job = job;
  driver.state.key = jobs_[job].key = new_key();
  driver.state.needs_files = !files.empty();
  driver.state.files = std::move(files);
  driver.state.detached = true;
  await_start(job, driver);
  change(driver);
}

void Drivers::await_start(JobId job, Driver& driver) {
  driver.timer = workers_.reactor.after(times_.unstarted, [this, job] { disconnected(job); });
}

void Drivers::goes_on(JobId job) {
  if (Driver* const driver = find(job); driver != nullptr && !driver->state.wanted) await_start(job, *driver);
}

void Drivers::start(JobId job, Started started) {
  Driver* const driver = find(job);
  if (driver == nullptr) return started(weft::fail(Code::not_found, fmt::format("there is no detached job {}", job.value())));
  if (driver->state.wanted) return started({});
  driver->state.wanted = true;
  driver->started = std::move(started);
  change(*driver);
  place(job);
}

void Drivers::take_over(JobId job) {
  const auto running = jobs_.find(job);
  if (closed_ || running == jobs_.end() || drivers_.contains(job)) return;
  const client::Submit& submit = running->second.submit;
  log_.info("job {}: its driver is gone; another one is started in the cluster unless it comes back within {}", job.value(),
            human_duration(times_.take_over));
  Driver& driver = drivers_[job];
  driver.state.job = job;
  driver.state.key = running->second.key;
  driver.state.wanted = true;
  driver.state.files = client::paths_in(submit.arguments, submit.directory);
  again(job, driver, times_.take_over);
  change(driver);
}

// ---- where it runs ------------------------------------------------------------------------------------------------

void Drivers::again(JobId job, Driver& driver, Duration wait) {
  driver.asking = 0;
  driver.timer = workers_.reactor.after(wait, [this, job] { place(job); });
}

void Drivers::later(JobId job, Driver& driver) {
  const Duration wait = std::min(times_.longest_pause, times_.pause * (std::int64_t{1} << std::min(driver.pauses++, 10u)));
  again(job, driver, wait);
}

std::vector<NodeId> Drivers::candidates() const {
  std::vector<NodeId> nodes;
  for (const auto& [id, worker] : workers_.table.all()) {
    const schedulers::NodeInfo* const info = shell_.core().view().node(id);
    if (info != nullptr && info->usable() && !worker.leaving) nodes.push_back(id);
  }
  return nodes;
}

void Drivers::place(JobId job) {
  Driver* const driver = find(job);
  if (driver == nullptr || !driver->state.wanted || driver->state.running) return;
  driver->timer.reset();
  const std::vector<NodeId> nodes = candidates();
  if (nodes.empty()) {
    later(job, *driver);
    return answer(*driver, {});  // it waits for a worker, as tasks do
  }
  if (!driver->state.files.empty() || !jobs_.at(job).submit.directory.empty()) return ask(job, nodes);
  std::vector<Place> places;
  for (const NodeId node : nodes) places.push_back({node, {}});
  choose(job, places);
}

/// After its files, and after the directory of its submission, which it may do without.
void Drivers::ask(JobId job, const std::vector<NodeId>& nodes) {
  Driver& driver = drivers_.at(job);
  const std::uint64_t number = driver.asking = next_inquiry_++;
  const auto inquiry = std::make_shared<Inquiry>();
  inquiry->missing = nodes.size();
  const client::Submit& submit = jobs_.at(job).submit;
  protocol::FileQuery query{driver.state.files, submit.options.user};
  const std::string& directory = submit.directory;
  const bool fits =
      !directory.empty() && directory.size() <= protocol::kMostPathBytes && query.paths.size() < protocol::kMostDriverFiles;
  if (fits && !contains(query.paths, directory)) query.paths.push_back(directory);
  const bool needs_answer = driver.state.needs_files;
  for (const NodeId node : nodes)
    workers_.table.at(node).connection->request(
        protocol::kFindFiles, protocol::encode(query), times_.files,
        guarded(alive_, [this, job, node, number, inquiry, needs_answer](Result<rpc::Message> answered) {
          auto found = answered ? protocol::decode<protocol::FileAnswer>(*answered) : weft::fail(std::move(answered).error());
          if (found)
            inquiry->places.push_back({node, std::move(found->missing)});
          else if (needs_answer)
            inquiry->silent = true;
          else
            inquiry->places.push_back({.node = node, .silent = true});
          if (--inquiry->missing != 0) return;
          Driver* const asked = find(job);
          if (asked == nullptr || asked->asking != number) return;
          if (inquiry->silent && asked->lost == Time(0)) asked->lost = shell_.now();  // it may have them
          choose(job, inquiry->places);
        }));
}

/// Slots that are free, less those drivers that are there already: many drivers spread.
double Drivers::room(NodeId node) const {
  const schedulers::NodeInfo* const info = shell_.core().view().node(node);
  double room = info == nullptr ? 0 : info->free().cpu;
  for (const auto& [id, driver] : drivers_)
    if (driver.state.running && driver.state.node == node) room -= 1;
  return room;
}

void Drivers::choose(JobId job, const std::vector<Place>& places) {
  Driver& driver = drivers_.at(job);
  driver.asking = 0;
  const auto lacked_by = [&state = driver.state](const Place& place) {
    const auto& missing = place.missing;
    return state.needs_files ? std::find_if(missing.begin(), missing.end(), [&](auto& path) { return contains(state.files, path); })
                             : missing.end();
  };
  const auto rank = [&](const Place& place) {
    const auto failed = driver.failed.find(place.node);
    const bool lacks = lacked_by(place) != place.missing.end();
    const bool left = place.node == driver.state.node && (!driver.state.died.empty() || driver.lost != Time(0));
    return std::make_tuple(lacks, place.silent, failed == driver.failed.end() ? 0u : failed->second, place.missing.size(), left,
                           -room(place.node), place.node);
  };
  const Place* best = nullptr;
  for (const Place& place : places)
    if (workers_.table.contains(place.node) && (best == nullptr || rank(place) < rank(*best))) best = &place;
  if (best == nullptr) {  // no worker has answered
    later(job, driver);
    return answer(driver, {});
  }
  if (const auto lacked = lacked_by(*best); lacked != best->missing.end()) return lack(job, *lacked);
  send(job, best->node);
}

/// The worker that has the files may come back, where it is only lost, or answer yet.
void Drivers::lack(JobId job, const std::string& file) {
  Driver& driver = drivers_.at(job);
  if (driver.lost != Time(0) && shell_.now() - driver.lost < times_.lost_files) {
    later(job, driver);
    return answer(driver, {});
  }
  if (file == jobs_.at(job).submit.directory)
    return fail(job, fmt::format("no worker has {}, the directory of the submission, which the job's command line needs: give "
                                 "absolute paths on storage that all workers share, or weft://",
                                 escaped(file)));
  fail(job, fmt::format("no worker has {}, which the job's command line names: put it on weft://, on storage that all workers "
                        "share, or on every worker",
                        escaped(file)));
}

void Drivers::send(JobId job, NodeId node) {
  Driver& driver = drivers_.at(job);
  RunningJob& running = jobs_.at(job);
  if (driver.failed.empty()) driver.pauses = 0;
  driver.lost = Time(0);
  driver.state.node = node;
  driver.state.running = true;
  driver.state.key = running.key = client::key_of_next_start(running.key == 0 ? new_key() : running.key);
  change(driver);
  answer(driver, {});
  workers_.recorder.when_durable(guarded(alive_, [this, job, key = running.key](const Result<void>& kept) {
    if (kept) order(job, key);
  }));
}

/// Once the key is on the disk: the next master would give a key that it does not know to the next start, and both could attach.
void Drivers::order(JobId job, std::uint64_t key) {
  Driver* const driver = find(job);
  if (driver == nullptr || !driver->state.running || driver->state.key != key) return;
  const NodeId node = driver->state.node;
  if (!workers_.table.contains(node)) return;  // node_lost() comes
  const client::Submit& submit = jobs_.at(job).submit;
  log_.info("job {}: its driver runs on {}", job.value(), workers_.table.at(node).info.name);
  workers_.table.send(node, protocol::StartDriver{job, key, submit.name, submit.program, submit.arguments, submit.directory,
                                                  submit.binary, submit.options.user});
  await_attach(job, *driver, times_.first_attach, &Drivers::not_started);
}

void Drivers::stop(JobId job, NodeId node, const std::string& reason) {
  workers_.table.send(node, protocol::StopDriver{job, reason});
}

// ---- what becomes of it -------------------------------------------------------------------------------------------

void Drivers::attached(JobId job) {
  Driver* const driver = find(job);
  if (driver == nullptr) return;
  if (driver->state.running) {
    driver->failed.clear();
    driver->pauses = 0;
    return driver->timer.reset();
  }
  if (!driver->state.wanted || driver->state.node != NodeId()) return;
  // The job's own driver has come back before another was started.
  driver->state.wanted = false;
  change(*driver);
  drivers_.erase(job);
}

void Drivers::disconnected(JobId job) {
  Driver* const driver = find(job);
  if (driver == nullptr) return;
  if (!driver->state.wanted) {
    driver->timer = workers_.reactor.after(times_.attach, [this, job] {
      (void)shell_.apply(JobKilled{job, "its submission was not completed"});
    });
    return;
  }
  if (!driver->state.running) return;
  await_attach(job, *driver, times_.attach, &Drivers::away);
}

/// Otherwise it is stopped, and that is its end.
void Drivers::await_attach(JobId job, Driver& driver, Duration wait, void (Drivers::*end)(JobId, const std::string&)) {
  driver.timer = workers_.reactor.after(wait, [this, job, wait, end] {
    const Driver* const silent = find(job);
    if (silent == nullptr || !silent->state.running) return;
    stop(job, silent->state.node, "it did not attach to its job");
    (this->*end)(job, fmt::format("it was not connected to the master for {}", human_duration(wait)));
  });
}

void Drivers::ended(NodeId node, const protocol::DriverEnded& how) {
  if (const auto over = ending_.find(how.job); over != ending_.end() && over->second.node == node) {
    ending_.erase(over);
    return;
  }
  Driver* const driver = find(how.job);
  if (driver == nullptr || driver->state.node != node || driver->state.key != how.key || !driver->state.running) return;
  driver->state.running = false;
  if (ended_well(how.status))
    return fail(how.job,
                fmt::format("its driver ended without having run the job: {} is no job program, or was asked for something "
                            "else than a run",
                            escaped(jobs_.at(how.job).submit.name)));
  if (gave_up(how.status)) return fail(how.job, fmt::format("its driver failed: {}", how.message));
  how.status < 0 ? not_started(how.job, how.message) : died(how.job, how.message);
}

void Drivers::not_started(JobId job, const std::string& why) {
  Driver& driver = drivers_.at(job);
  driver.state.running = false;
  driver.lost = shell_.now();  // its worker, which may be the only one with its files, may come back
  if (driver.failed.empty()) driver.first_failed = shell_.now();
  ++driver.failed[driver.state.node];
  const RegisteredWorker* const worker = workers_.table.find(driver.state.node);
  driver.why_failed =
      fmt::format("its driver could not be started{}: {}", worker == nullptr ? "" : " on " + worker->info.name, printable(why));
  log_.warn("job {}: {}", job.value(), driver.why_failed);
  unsigned failed = 0;
  for (const auto& [node, times] : driver.failed) failed += times;
  if (failed > kMostDriverDeaths && shell_.now() - driver.first_failed >= times_.starts)
    return fail(
        job, fmt::format("no worker could start its driver for {}, the last time because: {}", human_duration(times_.starts), why));
  change(driver);
  later(job, driver);
}

/// Its connection is gone, and it makes no other. When nothing comes from its worker either, both may be cut off.
void Drivers::away(JobId job, const std::string& how) {
  Driver& driver = drivers_.at(job);
  const RegisteredWorker* const worker = workers_.table.find(driver.state.node);
  if (worker != nullptr && shell_.now() - worker->heard <= times_.heard) return died(job, how);
  log_.warn("job {}: its driver is started on another worker: {}, and nothing was heard of its worker", job.value(), how);
  move(job, driver);
}

void Drivers::died(JobId job, const std::string& how) {
  Driver& driver = drivers_.at(job);
  std::vector<Time>& died = driver.state.died;
  std::erase_if(died, [this](Time at) { return shell_.now() - at >= times_.deaths; });
  died.push_back(shell_.now());
  const std::string within = human_duration(times_.deaths);
  log_.warn("job {}: its driver died ({} of {} times that it may within {}): {}", job.value(), died.size(), kMostDriverDeaths,
            within, how);
  if (died.size() > kMostDriverDeaths)
    return fail(job, fmt::format("its driver died {} times within {}, the last time so: {}", died.size(), within, how));
  move(job, driver);
}

/// Starts it elsewhere, a little later; its worker, which may be the only one with its files, may come back.
void Drivers::move(JobId job, Driver& driver) {
  driver.state.running = false;
  driver.lost = shell_.now();
  change(driver);
  later(job, driver);
}

void Drivers::node_lost(NodeId node) {
  std::erase_if(ending_, [node](const auto& over) { return over.second.node == node; });
  for (auto& [job, driver] : drivers_) {
    if (!driver.state.running || driver.state.node != node) continue;
    log_.warn("job {}: the worker with its driver is lost; it is started on another", job.value());
    move(job, driver);
  }
}

void Drivers::resumed(NodeId node, const std::vector<JobId>& drivers) {
  const std::set<JobId> there(drivers.begin(), drivers.end());
  for (const JobId job : there) {
    const Driver* const driver = find(job);
    if (driver == nullptr || driver->state.node != node || !driver->state.running)
      stop(job, node, "the job is over, or its driver runs elsewhere");
  }
  for (auto& [job, driver] : drivers_) {
    if (!driver.state.running || driver.state.node != node) continue;
    if (there.contains(job)) {
      if (const auto running = jobs_.find(job); running != jobs_.end() && !running->second.driver) disconnected(job);
      continue;
    }
    driver.state.running = false;
    change(driver);
    later(job, driver);
  }
}

void Drivers::fail(JobId job, const std::string& reason) {
  Driver& driver = drivers_.at(job);
  driver.timer.reset();
  answer(driver, weft::fail(Code::invalid_argument, reason));
  (void)shell_.apply(DriverFailed{job, bounded(reason)});  // which ends in job_ended()
}

void Drivers::job_ended(JobId job, bool failed) {
  auto gone = drivers_.extract(job);
  if (gone.empty()) return;
  Driver& driver = gone.mapped();
  answer(driver, weft::fail(Code::cancelled, fmt::format("job {} is over", job.value())));
  const NodeId node = driver.state.node;
  if (!driver.state.running || !workers_.table.contains(node)) return;
  Ending& ending = ending_[job];
  ending.node = node;
  ending.timer = workers_.reactor.after(failed ? times_.fail : times_.end, [this, job, node] {
    stop(job, node, "its job is over");
    ending_.erase(job);
  });
}

// ---- over a restart of the master ---------------------------------------------------------------------------------

bool Drivers::restore(DriverState state) {
  const JobId job = state.job;
  const auto running = jobs_.find(job);
  if (running == jobs_.end() || (!state.wanted && !state.detached)) return false;
  running->second.key = state.key;
  Driver& driver = drivers_[job];
  driver.state = std::move(state);
  if (!driver.state.wanted) {
    disconnected(job);
    return true;
  }
  if (driver.state.running && workers_.away.contains(driver.state.node)) return true;
  const bool own_may_return = !driver.state.detached && driver.state.node == NodeId();
  if (std::exchange(driver.state.running, false)) driver.lost = shell_.now();  // its worker was lost, and no more was recorded
  own_may_return ? again(job, driver, times_.take_over) : later(job, driver);
  return true;
}

std::vector<DriverState> Drivers::states() const {
  std::vector<DriverState> states;
  for (const auto& [job, driver] : drivers_) states.push_back(driver.state);
  return states;
}

void Drivers::close() {
  closed_ = true;
  alive_ = std::make_shared<bool>(true);
  drivers_.clear();
  ending_.clear();
}

}  // namespace weft::master
