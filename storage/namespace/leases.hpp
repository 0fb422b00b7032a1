// Files that are being written, and directories that go with their lease. Private to storage/namespace.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "storage/namespace/ids.hpp"
#include "storage/namespace/lease_times.hpp"
#include "storage/namespace/tree.hpp"
#include "storage/namespace/types.hpp"

namespace weft::storage {

struct OpenFile {
  /// Whether it is a lease on a directory, and not a file that is written, which has one replica at least.
  bool directory() const { return options.replication == 0; }
  /// A directory of a job, whose next driver takes it over: what tasks have left there is needed until then.
  bool of_job() const { return directory() && options.overwrite; }
  void forget_report_of(NodeId node) {
    std::erase_if(reported, [node](const auto& item) { return item.first == node; });
  }

  LeaseId id;
  std::string path;
  EntryId entry{};  // of a lease on a directory: which one. Another may have its name later
  Account* account = nullptr;
  CreateOptions options;
  std::vector<ChunkId> chunks;  // sealed, in order
  std::uint64_t length = 0;
  ChunkId pending{};                                     // allocated; 0: none
  std::uint64_t pending_bytes = 0;                       // for which room was looked for
  std::vector<NodeId> targets{};                         // of it
  std::vector<std::pair<NodeId, ChunkInfo>> reported{};  // replicas of it, as workers report
  std::vector<NodeId> gone{};                            // workers that reported later that they have none
};

/// As long as a job's directory on a local disk stays without its driver (storage/output_directory.cpp).
constexpr Time kJobLease = std::chrono::hours(1);

class Leases {
 public:
  /// A lease nobody renews ends after `length`, that of a job after kJobLease at least.
  Leases(Ids& ids, Time length) : ids_(ids), length_(length), times_(length), completed_(length, LeaseTimes::Recorded::all) {}

  /// not_found when it is over.
  Result<OpenFile*> find(LeaseId lease);
  /// As find(), of a file only.
  Result<OpenFile*> find_file(LeaseId lease);
  OpenFile& at(LeaseId lease) { return open_.at(lease); }
  const OpenFile& at(LeaseId lease) const { return open_.at(lease); }
  const std::map<LeaseId, OpenFile>& open() const { return open_; }
  void forget_reports_of(NodeId node);

  OpenFile& begin(std::string path, Account& account, const CreateOptions& options, Time now);
  void renew(const OpenFile& file, Time now) { times_.renew(file.id.value(), now); }
  void changed(const OpenFile& file) { dirty_.insert(file.id); }
  void end(LeaseId lease);
  /// Ends it; that its file was completed is known for as long as a lease lasts.
  void complete(LeaseId lease, Time now);
  bool was_completed(LeaseId lease) const { return completed_.contains(lease.value()); }
  /// Those nobody has renewed in time. Forgets what was completed long ago.
  std::vector<LeaseId> expired(Time now);

  /// Restart: a lease of before, whose time goes on with restored().
  OpenFile& restore(LeaseId lease);
  LeaseTimes& times() { return times_; }
  LeaseTimes& completed() { return completed_; }
  void restored(Time now);
  std::set<LeaseId> take_changed() { return std::exchange(dirty_, {}); }
  /// Those on directories whose record is another one than at the last call.
  std::set<LeaseId> take_changed_directories() { return std::exchange(dirty_directories_, {}); }
  /// Restart: the record of the directory of that lease, which may be over.
  void restore_directory(LeaseId lease, EntryId entry) { directories_before_[lease] = entry; }
  /// Then: that directory, once; 0: there is no record, as of an earlier release, and one is due.
  EntryId take_restored_directory(LeaseId lease);

 private:
  Time length_of(const OpenFile& file) const { return file.of_job() ? std::max(length_, kJobLease) : length_; }

  Ids& ids_;
  const Time length_;
  std::map<LeaseId, OpenFile> open_;
  LeaseTimes times_;      // of those in open_
  LeaseTimes completed_;  // so that a repeated request finds out
  std::set<LeaseId> dirty_, dirty_directories_;
  std::map<LeaseId, EntryId> directories_before_;
};

}  // namespace weft::storage
