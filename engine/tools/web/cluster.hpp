// The cluster as its page and REST interface see it: what a client of the master sees.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "engine/client/admin.hpp"
#include "engine/tools/history/log_follower.hpp"
#include "engine/tools/history/past_jobs.hpp"
#include "engine/tools/web/adviser.hpp"
#include "engine/tools/web/cluster_samples.hpp"
#include "engine/tools/web/pool_samples.hpp"
#include "engine/tools/web/refusals.hpp"
#include "engine/tools/web/submissions.hpp"
#include "storage/files/file_system.hpp"
#include "storage/tables/table_client.hpp"

namespace weft::web {

/// What all users of the page share: the event log, what is asked of it, programs that are started over HTTP, samples of pools and
/// of the cluster. Any thread.
class ClusterSources {
 public:
  ClusterSources(std::string master, const std::string& event_log, master::LogPlace log_began);
  explicit ClusterSources(std::unique_ptr<history::LoggedJobs> past) : past_(std::move(past)) {}

  const std::string& master() const { return master_; }
  const history::LoggedJobs* past() const { return past_.get(); }
  void allow_submissions(const std::string& directory) { submissions_ = std::make_unique<Submissions>(directory, master_); }
  void note_refusals(std::function<void(master::AuditEntry)> note) { refusals_ = std::make_unique<Refusals>(std::move(note)); }
  Refusals* refusals() const { return refusals_.get(); }
  Result<Submissions*> submissions();
  Result<Adviser*> adviser();
  PoolSamples& pool_samples() { return pool_samples_; }
  ClusterSamples& samples() { return samples_; }

  using Use = std::function<Result<std::string>(const history::EventHistory&, const history::LoggedJob&)>;
  Result<std::string> with_history(std::uint64_t job, const Use& use);

 private:
  Result<std::shared_ptr<const history::EventHistory>> earlier(std::uint64_t job);

  const std::string master_, event_log_;
  const std::unique_ptr<history::LoggedJobs> past_;
  std::mutex log_mutex_;  // of the log
  std::optional<history::LogFollower> log_;
  std::mutex earlier_mutex_;  // of what follows
  std::unique_ptr<history::PastJobs> earlier_;
  std::unique_ptr<Submissions> submissions_;
  std::optional<Adviser> adviser_;  // of the event log, if there is one
  PoolSamples pool_samples_;
  ClusterSamples samples_;
  std::unique_ptr<Refusals> refusals_;
};

/// As one user sees it, under his rights. Connects when a connection is first needed. Any thread.
class Cluster {
 public:
  /// `master`: "host:port". `event_log`: its file, of which this master's part begins at `log_began`; empty: it writes none. The
  /// user is the process itself, which may see all.
  explicit Cluster(std::string master, const std::string& event_log = "", master::LogPlace log_began = {})
      : sources_(std::make_shared<ClusterSources>(std::move(master), event_log, log_began)) {}

  /// The contents of event logs only, of a cluster that is gone or of a job that runs by itself. There is no master then, and
  /// whoever is answered sees all.
  explicit Cluster(std::unique_ptr<history::LoggedJobs> past) : sources_(std::make_shared<ClusterSources>(std::move(past))) {}

  /// The same cluster for another user. Empty: somebody of whom nothing is known.
  Cluster(const Cluster& same, std::string user) : sources_(same.sources_), user_(std::move(user)) {}

  /// Null: there is a master.
  const history::LoggedJobs* past() const { return sources_->past(); }
  const std::string& user() const { return user_; }

  /// Before anything is asked: programs in the directory may be started over HTTP.
  void allow_submissions(const std::string& directory) { sources_->allow_submissions(directory); }
  /// Before anything is asked: what is refused here, and not by the master, is written there (Refusals).
  void note_refusals(std::function<void(master::AuditEntry)> note) { sources_->note_refusals(std::move(note)); }
  /// Null: they are not written. Lives as long as all who look at the cluster.
  Refusals* refusals() const { return sources_->refusals(); }
  /// not_found when none may be started.
  Result<Submissions*> submissions() { return sources_->submissions(); }
  /// permission_denied for whoever may not read all of the event log; not_found where there is none.
  Result<Adviser*> adviser();
  Result<std::shared_ptr<client::Admin>> admin();
  /// What pools used over the last hour, as far as samples were taken.
  PoolSamples& pool_samples() { return sources_->pool_samples(); }
  /// What the cluster did over the last hour, day and week.
  ClusterSamples& samples() { return sources_->samples(); }
  /// Gives the JSON of a span's samples as of now; unavailable when all who look at the cluster are gone.
  std::function<Result<std::string>(const std::string& span)> past_of_samples() const;
  Result<std::shared_ptr<storage::files::FileSystem>> files();
  Result<std::shared_ptr<storage::tables::TableClient>> tables();
  /// Calls `use` with the history of the job from the event log until now, also of a job that an earlier master had; not_found when
  /// the log does not have it, or there is no log; permission_denied when the job is another user's.
  Result<std::string> with_history(std::uint64_t job,
                                   const std::function<std::string(const history::EventHistory&, const history::LoggedJob&)>& use);

 private:
  Result<bool> sees_all();
  Error refuse(std::string why, std::optional<JobId> job = {}, const std::string& owner = "") const;

  const std::shared_ptr<ClusterSources> sources_;
  const std::string user_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<client::Admin> admin_;
  std::shared_ptr<storage::files::FileSystem> files_;
  std::shared_ptr<storage::tables::TableClient> tables_;
};

}  // namespace weft::web
