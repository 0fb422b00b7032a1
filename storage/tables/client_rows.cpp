// Rows to and from the workers.
#include <algorithm>
#include <queue>

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/tables/client_impl.hpp"

namespace weft::storage {
namespace {

using namespace std::chrono_literals;
constexpr Duration kRowsDeadline = 20s;
constexpr Duration kFirstRowsPause = 5ms, kLongestRowsPause = 250ms;
constexpr std::size_t kMessageBytes = 4u << 20;
constexpr std::uint64_t kPageRows = 2000;

bool worth_another_try(const Error& error) {
  return error.code() == Code::unavailable || error.code() == Code::deadline_exceeded || error.code() == Code::cancelled;
}

/// Rows of one partition, page by page.
class PartitionRows {
 public:
  PartitionRows(TableClientImpl& client, const std::string& table, std::uint32_t partition, const KeyRange& range,
                SnapshotId snapshot)
      : client_(client), table_(table), partition_(partition), range_(range), snapshot_(snapshot) {}

  /// Nothing at the end.
  Result<const TableRow*> next() {
    if (at_ == rows_.size() && more_) WEFT_TRY(fetch());
    return at_ < rows_.size() ? &rows_[at_++] : nullptr;
  }

 private:
  Result<void> fetch() {
    TableClientImpl::Part part;
    part.partition = partition_;
    part.request.operation = PartitionOperation::scan;
    part.request.id = snapshot_.value();
    part.request.from = range_.from, part.request.to = range_.to, part.request.limit = kPageRows;
    WEFT_ASSIGN(auto replies, client_.ask_partitions(table_, {std::move(part)}));
    rows_ = std::move(replies.at(0).rows);
    at_ = 0;
    more_ = replies[0].more && !rows_.empty();
    if (more_) range_.from = rows_.back().key + '\0';
    return {};
  }

  TableClientImpl& client_;
  const std::string& table_;
  const std::uint32_t partition_;
  KeyRange range_;
  const SnapshotId snapshot_;
  std::vector<TableRow> rows_;
  std::size_t at_ = 0;
  bool more_ = true;
};

class MergedScan final : public TableScan {
 public:
  MergedScan(std::shared_ptr<TableClientImpl> client, std::string table, std::unique_ptr<TemporarySnapshot> held)
      : client_(std::move(client)), table_(std::move(table)), held_(std::move(held)) {}

  Result<void> begin(const std::vector<std::uint32_t>& partitions, const KeyRange& range, SnapshotId snapshot) {
    for (const std::uint32_t partition : partitions) {
      sources_.push_back(std::make_unique<PartitionRows>(*client_, table_, partition, range, snapshot));
      WEFT_TRY(advance(sources_.size() - 1));
    }
    return {};
  }

  Result<const TableRow*> next() override {
    if (current_) WEFT_TRY(advance(*std::exchange(current_, std::nullopt)));
    if (heads_.empty()) return nullptr;
    const auto [row, source] = heads_.top();
    heads_.pop();
    current_ = source;
    return row;
  }

 private:
  struct Head {
    const TableRow* row;
    std::size_t source;
    bool operator<(const Head& other) const { return other.row->key < row->key; }  // the smallest on top
  };
  Result<void> advance(std::size_t source) {
    WEFT_ASSIGN(const TableRow* const row, sources_[source]->next());
    if (row != nullptr) heads_.push({row, source});
    return {};
  }

  const std::shared_ptr<TableClientImpl> client_;
  const std::string table_;
  const std::unique_ptr<TemporarySnapshot> held_;
  std::vector<std::unique_ptr<PartitionRows>> sources_;
  std::priority_queue<Head> heads_;
  std::optional<std::size_t> current_;  // whose row was given last
};

}  // namespace

Result<std::unique_ptr<TableScan>> make_scan(std::shared_ptr<TableClientImpl> client, std::string table,
                                             std::vector<std::uint32_t> partitions, KeyRange range, SnapshotId snapshot,
                                             std::unique_ptr<TemporarySnapshot> held) {
  auto scan = std::make_unique<MergedScan>(std::move(client), std::move(table), std::move(held));
  WEFT_TRY(scan->begin(partitions, range, snapshot));
  return std::unique_ptr<TableScan>(std::move(scan));
}

/// Snapshots can be read from every replica that is in sync: the nearest first, another one with each try.
std::string TableClientImpl::address_for(const PartitionStatus& partition, bool snapshot, std::uint32_t tries) const {
  std::vector<std::string> near, far;
  for (const MemberStatus& member : partition.members) {
    if (member.address.empty()) continue;
    if (!snapshot) {
      if (member.name == partition.primary) return member.address;
      continue;
    }
    if (!member.in_sync) continue;
    const bool here = member.host == options_.host || member.name == options_.host;
    if (member.name == partition.primary && !here)
      far.insert(far.begin(), member.address);
    else
      (here ? near : far).push_back(member.address);
  }
  near.insert(near.end(), far.begin(), far.end());
  return near.empty() ? std::string() : near[tries % near.size()];
}

Result<std::vector<PartitionReply>> TableClientImpl::ask_partitions(const std::string& table, std::vector<Part> parts) {
  struct Answers {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::optional<Result<PartitionReply>>> replies;
    std::size_t left = 0;
  };
  std::vector<PartitionReply> replies(parts.size());
  std::vector<std::size_t> open(parts.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  Patience patience(options_);
  Duration pause = kFirstRowsPause;
  std::optional<TableId> id;
  for (std::uint32_t tries = 0; !open.empty(); ++tries) {
    WEFT_ASSIGN(const auto where, route(table, tries > 0));
    if (id && *id != where->id)
      return fail(Code::not_found, fmt::format("the table '{}' was dropped, and another one made under its name", table));
    id = where->id;
    const auto answers = std::make_shared<Answers>();
    answers->replies.resize(open.size());
    answers->left = open.size();
    const auto arrived = [answers](std::size_t slot, Result<PartitionReply> reply) {
      const std::lock_guard lock(answers->mutex);
      answers->replies[slot].emplace(std::move(reply));
      if (--answers->left == 0) answers->changed.notify_all();
    };
    for (std::size_t slot = 0; slot < open.size(); ++slot) {
      Part& part = parts[open[slot]];
      const PartitionStatus& partition = where->partitions.at(part.partition);
      part.request.place = {where->id, part.partition};
      const bool snapshot = part.request.id != 0 && part.request.operation <= PartitionOperation::scan;
      const std::string address = address_for(partition, snapshot, tries);
      if (address.empty()) {
        arrived(slot,
                fail(Code::unavailable, fmt::format("partition {} of '{}' has no worker that can serve it{}{}", part.partition,
                                                    table, partition.trouble.empty() ? "" : ": ", partition.trouble)));
        continue;
      }
      reactor_->post([this, address, arrived, slot, request = &part.request] {
        peers_->ask(address, *request, kRowsDeadline,
                    [arrived, slot](Result<PartitionReply> reply) { arrived(slot, std::move(reply)); });
      });
    }
    {
      std::unique_lock lock(answers->mutex);
      answers->changed.wait(lock, [&] { return answers->left == 0; });
    }
    std::vector<std::size_t> again;
    std::optional<Error> why;
    for (std::size_t slot = 0; slot < open.size(); ++slot) {
      Result<PartitionReply>& reply = *answers->replies[slot];
      if (reply) {
        replies[open[slot]] = std::move(*reply);
        continue;
      }
      if (!worth_another_try(reply.error())) return fail(std::move(reply).error().wrap(fmt::format("table '{}'", table)));
      why = std::move(reply).error();
      again.push_back(open[slot]);
    }
    open = std::move(again);
    if (open.empty()) break;
    if (!patience.wait(*why, pause)) return fail(std::move(*why).wrap(fmt::format("table '{}'", table)));
    pause = std::min(2 * pause, kLongestRowsPause);
  }
  return replies;
}

Result<void> TableClientImpl::write(const std::string& table, std::vector<TableWrite> writes, const PartitionRequest& like) {
  WEFT_TRY(check_writes(writes));
  WEFT_ASSIGN(const auto where, route(table, false));
  const auto partitions = static_cast<std::uint32_t>(where->partitions.size());
  std::vector<std::vector<TableWrite>> by_partition(partitions);
  std::vector<std::size_t> bytes(partitions);
  std::vector<Part> parts;
  const auto send = [&](std::uint32_t partition) {
    Part& part = parts.emplace_back(Part{partition, like});
    part.request.writes = std::exchange(by_partition[partition], {});
    bytes[partition] = 0;
  };
  // Messages of one partition go one after the other, so that of one key the last write counts.
  const auto flush = [&]() -> Result<void> {
    for (std::uint32_t partition = 0; partition < partitions; ++partition)
      if (!by_partition[partition].empty()) send(partition);
    return ask_partitions(table, std::exchange(parts, {})).map([](auto&&) {});
  };
  for (TableWrite& write : writes) {
    const std::uint32_t partition = partition_of(write.key, partitions);
    const std::size_t size = write.key.size() + (write.value ? write.value->size() : 0);
    if (bytes[partition] > 0 && bytes[partition] + size > kMessageBytes) WEFT_TRY(flush());
    bytes[partition] += size;
    by_partition[partition].push_back(std::move(write));
  }
  return flush();
}

Result<void> TableClientImpl::put(const std::string& table, std::vector<TableWrite> writes) {
  PartitionRequest like;
  like.operation = PartitionOperation::put;
  return write(table, std::move(writes), like);
}

Result<void> TableClientImpl::stage(const std::string& table, TransactionId id, std::uint64_t token,
                                    std::vector<TableWrite> writes) {
  PartitionRequest like;
  like.operation = PartitionOperation::stage;
  like.id = id.value(), like.token = token;
  return write(table, std::move(writes), like);
}

Result<std::vector<std::optional<std::string>>> TableClientImpl::get(const std::string& table, const std::vector<std::string>& keys,
                                                                     SnapshotId snapshot) {
  for (const std::string& key : keys) WEFT_TRY(check_writes({{key, std::nullopt}}));
  WEFT_ASSIGN(const auto where, route(table, false));
  std::map<std::uint32_t, std::vector<std::size_t>> by_partition;
  for (std::size_t i = 0; i < keys.size(); ++i)
    by_partition[partition_of(keys[i], static_cast<std::uint32_t>(where->partitions.size()))].push_back(i);
  std::vector<Part> parts;
  for (const auto& [partition, indexes] : by_partition) {
    Part& part = parts.emplace_back();
    part.partition = partition;
    part.request.operation = PartitionOperation::get;
    part.request.id = snapshot.value();
    for (const std::size_t i : indexes) part.request.keys.push_back(keys[i]);
  }
  WEFT_ASSIGN(auto replies, ask_partitions(table, std::move(parts)));
  std::vector<std::optional<std::string>> values(keys.size());
  std::size_t part = 0;
  for (const auto& [partition, indexes] : by_partition) {
    auto& found = replies.at(part++).values;
    if (found.size() != indexes.size())
      return fail(Code::corrupt, "a worker answered with another number of values than was asked for");
    for (std::size_t i = 0; i < indexes.size(); ++i) values[indexes[i]] = std::move(found[i]);
  }
  return values;
}

Result<std::unique_ptr<TableScan>> TableClientImpl::scan(const std::string& table, const KeyRange& range, SnapshotId snapshot) {
  std::unique_ptr<TemporarySnapshot> held;
  if (snapshot == SnapshotId()) {
    WEFT_ASSIGN(held, temporary_snapshot(table));
    snapshot = held->id();
  }
  WEFT_ASSIGN(const auto where, route(table, false));
  std::vector<std::uint32_t> partitions(where->partitions.size());
  for (std::uint32_t p = 0; p < partitions.size(); ++p) partitions[p] = p;
  return make_scan(shared_from_this(), table, std::move(partitions), range, snapshot, std::move(held));
}

Result<std::unique_ptr<TableScan>> TableClientImpl::scan_partition(const std::string& table, std::uint32_t partition,
                                                                   SnapshotId snapshot) {
  WEFT_ASSIGN(const auto where, route(table, false));
  if (partition >= where->partitions.size())
    return fail(Code::not_found, fmt::format("the table '{}' has {} partitions", table, where->partitions.size()));
  return make_scan(shared_from_this(), table, {partition}, {}, snapshot, nullptr);
}

}  // namespace weft::storage
