// A partition's database with faults. For tests.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "storage/tables/partition.hpp"

namespace weft::storage::tables {

/// What a database does when it is told to.
struct Faults {
  bool apply_fails = false;  // once
  bool log_is_trimmed = false;
  bool damage = false;      // reads of keys find a damaged block
  bool gives_none = false;  // of what is read: a key, or the log
  bool broken = false;      // writing fails, and the database knows it
  bool full = false;        // its disk: one that is opened meanwhile is only read until it recovers
  std::function<void()> reading = [] {}, applying = [] {};
};

class FaultyPartition final : public TablePartition {
 public:
  FaultyPartition(std::unique_ptr<TablePartition> real, std::shared_ptr<Faults> faults)
      : real_(std::move(real)), faults_(std::move(faults)), refuses_(faults_->full) {}
  std::uint64_t last() const override { return real_->last(); }
  std::optional<std::uint64_t> epoch_at(std::uint64_t version) const override { return real_->epoch_at(version); }
  std::optional<Error> refusal() const override {
    if (faults_->broken) return Error(Code::io, "the disk broke");
    if (!refuses_ && !faults_->full) return std::nullopt;
    return Error(Code::resource_exhausted, "its disk is full");
  }
  Result<void> recover() override {
    if (faults_->full) return fail(Code::resource_exhausted, "its disk is full");
    refuses_ = false;
    return {};
  }
  Result<void> apply(const LogEntry& entry) override {
    faults_->applying();
    if (refuses_ || faults_->full) return fail(Code::resource_exhausted, "its disk is full");
    if (std::exchange(faults_->apply_fails, false)) return fail(Code::io, "the disk broke");
    return real_->apply(entry);
  }
  void set_committed(std::uint64_t version) override { real_->set_committed(version); }
  Result<std::vector<LogEntry>> log_after(std::uint64_t version, std::uint64_t bytes) const override {
    if (faults_->log_is_trimmed) return fail(Code::not_found, "it is trimmed");
    return real_->log_after(version, bytes);
  }
  Result<void> trim_log(std::uint64_t version) override { return real_->trim_log(version); }
  std::unique_ptr<PartitionPages> pages() const override { return real_->pages(); }
  std::shared_ptr<void> pin_log() override { return real_->pin_log(); }
  Result<std::optional<std::string>> get(const std::string& key, std::uint64_t at) const override {
    faults_->reading();
    if (faults_->damage) return fail(Code::corrupt, "a block is damaged");
    if (faults_->gives_none) return fail(Code::io, "input/output error");
    return real_->get(key, at);
  }
  Result<std::vector<TableRow>> scan(const std::string& from, const std::string& to, std::size_t limit, std::uint64_t at,
                                     std::size_t most_bytes, bool* more) const override {
    return real_->scan(from, to, limit, at, most_bytes, more);
  }
  std::map<SnapshotId, std::uint64_t> snapshots() const override { return real_->snapshots(); }
  std::set<TransactionId> staged() const override { return real_->staged(); }
  std::uint64_t staged_bytes() const override { return real_->staged_bytes(); }
  bool committed(TransactionId id) const override { return real_->committed(id); }
  bool carried_out(std::uint64_t request) const override { return real_->carried_out(request); }
  Result<void> recall_requests() override {
    if (faults_->gives_none) return fail(Code::io, "input/output error");
    return real_->recall_requests();
  }
  bool recalled_requests() const override { return real_->recalled_requests(); }
  std::uint64_t bytes() const override { return real_->bytes(); }
  Result<void> compact() override { return real_->compact(); }
  Result<std::uint64_t> stored_versions() const override { return real_->stored_versions(); }

 private:
  const std::unique_ptr<TablePartition> real_;
  const std::shared_ptr<Faults> faults_;
  bool refuses_;
};

inline auto faulty(std::shared_ptr<Faults> faults) {
  return [faults = std::move(faults)](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<TablePartition>> {
    WEFT_ASSIGN(auto real, TablePartition::open(path, mode));
    return std::make_unique<FaultyPartition>(std::move(real), faults);
  };
}

}  // namespace weft::storage::tables
