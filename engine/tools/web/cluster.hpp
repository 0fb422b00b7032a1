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
#include "engine/tools/web/pool_samples.hpp"
#include "engine/tools/web/submissions.hpp"
#include "storage/files/file_system.hpp"
#include "storage/tables/table_client.hpp"

namespace weft::web {

/// Connects when a connection is first needed. Any thread.
class Cluster {
 public:
  /// `master`: "host:port". `event_log`: its file, of which this master's part begins at `log_began`; empty: it writes none.
  explicit Cluster(std::string master, const std::string& event_log = "", master::LogPlace log_began = {});

  /// The contents of event logs only, of a cluster that is gone or of a job that runs by itself. There is no master then.
  explicit Cluster(std::unique_ptr<history::LoggedJobs> past) : past_(std::move(past)) {}

  /// Null: there is a master.
  const history::LoggedJobs* past() const { return past_.get(); }

  /// Before anything is asked: programs in the directory may be started over HTTP.
  void allow_submissions(const std::string& directory) { submissions_ = std::make_unique<Submissions>(directory, master_); }
  /// not_found when none may be started.
  Result<Submissions*> submissions();
  Result<std::shared_ptr<client::Admin>> admin();
  /// What pools used over the last hour, as far as samples were taken.
  PoolSamples& pool_samples() { return pool_samples_; }
  Result<std::shared_ptr<storage::files::FileSystem>> files();
  Result<std::shared_ptr<storage::tables::TableClient>> tables();
  /// Calls `use` with the history of the job from the event log until now, also of a job that an earlier master had; not_found when
  /// the log does not have it, or there is no log.
  Result<std::string> with_history(std::uint64_t job,
                                   const std::function<std::string(const history::EventHistory&, const history::LoggedJob&)>& use);

 private:
  Result<std::shared_ptr<const history::EventHistory>> earlier(std::uint64_t job);

  const std::string master_, event_log_;
  const std::unique_ptr<history::LoggedJobs> past_;
  std::mutex mutex_;
  std::shared_ptr<client::Admin> admin_;
  std::shared_ptr<storage::files::FileSystem> files_;
  std::shared_ptr<storage::tables::TableClient> tables_;
  std::mutex log_mutex_;  // of the log
  std::optional<history::LogFollower> log_;
  std::mutex earlier_mutex_;  // of what follows
  std::unique_ptr<history::PastJobs> earlier_;
  std::unique_ptr<Submissions> submissions_;
  PoolSamples pool_samples_;
};

}  // namespace weft::web
