#include "engine/tools/web/cluster.hpp"

#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::web {

namespace {

/// What `held` has, or what `connect` makes.
template <class T, class Connect>
Result<std::shared_ptr<T>> held_or_made(std::shared_ptr<T>& held, const std::string& master, Connect connect) {
  if (master.empty()) return fail(Code::not_found, "these are event logs: there is no master to ask");
  if (held != nullptr) return held;
  auto made = connect();
  if (!made) return fail(std::move(made).error());
  return held = std::move(*made);
}

/// Of a client that does not wait long for workers that are away, since a page or other requests wait for it.
template <class Options>
Options impatient(const std::string& user) {
  Options options;
  options.user = user;
  options.patience = std::chrono::seconds(2);
  options.at_first = Duration(0);
  return options;
}

constexpr std::size_t kMostAttempts = 300'000;  // of all jobs together, kept in memory

}  // namespace

ClusterSources::ClusterSources(std::string master, const std::string& event_log, master::LogPlace log_began)
    : master_(std::move(master)), event_log_(event_log) {
  if (event_log.empty()) return;
  log_.emplace(event_log, history::EventHistory({}, kMostAttempts), log_began);
  adviser_.emplace(event_log);
}

Result<std::string> ClusterSources::with_history(std::uint64_t job, const Use& use) {
  if (past_) {
    WEFT_ASSIGN(const auto history, past_->job(job));
    return use(*history, *history->job(job));
  }
  if (event_log_.empty())
    return fail(Code::not_found,
                "this master keeps no event log, which has the single tasks: it was started with --event-log none");
  {
    const std::lock_guard lock(log_mutex_);
    WEFT_TRY(log_->read());
    if (const history::LoggedJob* found = log_->history().job(job)) return use(log_->history(), *found);
  }
  WEFT_ASSIGN(const auto history, earlier(job));
  return use(*history, *history->job(job));
}

/// Of a job that began before this master did. Its lines are found by an index, which is brought up to date while the job runs.
Result<std::shared_ptr<const history::EventHistory>> ClusterSources::earlier(std::uint64_t job) {
  const std::lock_guard lock(earlier_mutex_);
  const auto known = [&] {
    if (earlier_ == nullptr) return false;
    const auto found = earlier_->jobs().find(job);
    return found != earlier_->jobs().end() && found->second.status.state != master::JobState::running;
  };
  if (!known()) {
    WEFT_ASSIGN(earlier_, history::PastJobs::open(event_log_));
  }
  return earlier_->job(job);
}

Result<Submissions*> ClusterSources::submissions() {
  if (submissions_ == nullptr)
    return fail(Code::not_found, "this master starts no programs; weft master --submit-dir DIR names those it may");
  return submissions_.get();
}

Result<Adviser*> ClusterSources::adviser() {
  if (past_) return fail(Code::not_found, "of event logs, `weft advise --from-log` says what another scheduler would have done");
  if (!adviser_)
    return fail(Code::not_found,
                "this master keeps no event log, from which that would be known: it was started with --event-log none");
  return &*adviser_;
}

std::function<Result<std::string>(const std::string&)> Cluster::past_of_samples() const {
  return [shared = std::weak_ptr(sources_)](const std::string& span) -> Result<std::string> {
    const auto sources = shared.lock();
    if (!sources) return fail(Code::unavailable, "the master's page has ended");
    return sources->samples().json(SystemClock().now(), span);
  };
}

Result<Adviser*> Cluster::adviser() {
  WEFT_ASSIGN(const bool all, sees_all());
  if (!all)
    return fail(
        refuse(fmt::format("{} may not read the events of all jobs, of which this tells (weft master --admin)", escaped(user_))));
  return sources_->adviser();
}

Result<std::shared_ptr<client::Admin>> Cluster::admin() {
  const std::lock_guard lock(mutex_);
  return held_or_made(admin_, sources_->master(), [this] { return client::Admin::connect(sources_->master(), {.user = user_}); });
}

Result<std::shared_ptr<storage::files::FileSystem>> Cluster::files() {
  const std::lock_guard lock(mutex_);
  return held_or_made(files_, sources_->master(), [this] {
    return storage::files::FileSystem::connect(sources_->master(), impatient<storage::files::FileSystemOptions>(user_));
  });
}

Result<std::shared_ptr<storage::tables::TableClient>> Cluster::tables() {
  const std::lock_guard lock(mutex_);
  return held_or_made(tables_, sources_->master(), [this] {
    return storage::tables::TableClient::connect(sources_->master(), impatient<storage::tables::TableClientOptions>(user_));
  });
}

Result<bool> Cluster::sees_all() {
  if (user_.empty() || past() != nullptr) return true;
  WEFT_ASSIGN(const auto asked, admin());
  WEFT_ASSIGN(const storage::ActedFor seen, asked->who());
  return seen.administrator;
}

/// permission_denied. The master has not seen the request, so it is noted here.
Error Cluster::refuse(std::string why, std::optional<JobId> job, const std::string& owner) const {
  if (Refusals* const refusals = sources_->refusals()) {
    master::AuditEntry entry{user_, "the page", "read events", job, owner};
    entry.error = why;
    refusals->add(std::move(entry), SystemClock().now());
  }
  return {Code::permission_denied, std::move(why)};
}

Result<std::string> Cluster::with_history(
    std::uint64_t job, const std::function<std::string(const history::EventHistory&, const history::LoggedJob&)>& use) {
  WEFT_ASSIGN(const bool all, sees_all());
  return sources_->with_history(
      job, [&](const history::EventHistory& history, const history::LoggedJob& found) -> Result<std::string> {
        if (all || found.status.user == user_) return use(history, found);
        const std::string& owner = found.status.user;
        return fail(refuse(fmt::format("job {} belongs to {}; {} may not read its events (only {} or an administrator may: weft "
                                       "master --admin)",
                                       job, escaped(owner), escaped(user_), escaped(owner)),
                           JobId(job), owner));
      });
}

}  // namespace weft::web
