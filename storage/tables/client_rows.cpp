// Rows to and from the workers.
#include <algorithm>
#include <numeric>
#include <queue>

#include <fmt/core.h>

#include "base/text.hpp"
#include "base/unguessable.hpp"
#include "storage/tables/client_impl.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;
constexpr Duration kRowsDeadline = 20s;
constexpr Retry::Pauses kRowsPauses{5ms, 250ms};
constexpr std::size_t kMessageBytes = 4u << 20;
constexpr std::uint64_t kPageRows = 2000;
constexpr int kMostTables = 10;  // that are made one after the other under a name, while rows of it are on their way

/// Rows of one partition, page by page.
class PartitionRows {
 public:
  PartitionRows(TableClientImpl& client, const std::string& table, TableClientImpl::Route& where, std::uint32_t partition,
                const KeyRange& range, SnapshotId snapshot)
      : client_(client), table_(table), where_(where), partition_(partition), range_(range), snapshot_(snapshot) {}

  /// Nothing at the end.
  Result<const TableRow*> next() {
    if (at_ == rows_.size() && more_) WEFT_TRY(fetch());
    return at_ < rows_.size() ? &rows_[at_++] : nullptr;
  }

 private:
  Result<void> fetch() {
    WEFT_ASSIGN(auto replies,
                client_.ask_partitions(table_, {{partition_, ScanRows{snapshot_, range_.from, range_.to, kPageRows}}}, where_));
    WEFT_ASSIGN(Rows page, reply_to<ScanRows>(Result<PartitionReply>(std::move(replies.at(0)))));
    rows_ = std::move(page.rows);
    at_ = 0;
    more_ = page.more && !rows_.empty();
    if (more_) range_.from = rows_.back().key + '\0';
    return {};
  }

  TableClientImpl& client_;
  const std::string& table_;
  TableClientImpl::Route& where_;
  const std::uint32_t partition_;
  KeyRange range_;
  const SnapshotId snapshot_;
  std::vector<TableRow> rows_;
  std::size_t at_ = 0;
  bool more_ = true;
};

class MergedScan final : public TableScan {
 public:
  MergedScan(std::shared_ptr<TableClientImpl> client, std::string table, TableClientImpl::Route where,
             std::unique_ptr<TemporarySnapshot> held)
      : client_(std::move(client)), table_(std::move(table)), where_(std::move(where)), held_(std::move(held)) {}

  Result<void> begin(const std::vector<std::uint32_t>& partitions, const KeyRange& range, SnapshotId snapshot) {
    for (const std::uint32_t partition : partitions) {
      sources_.push_back(std::make_unique<PartitionRows>(*client_, table_, where_, partition, range, snapshot));
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
  TableClientImpl::Route where_;  // of all partitions
  const std::unique_ptr<TemporarySnapshot> held_;
  std::vector<std::unique_ptr<PartitionRows>> sources_;
  std::priority_queue<Head> heads_;
  std::optional<std::size_t> current_;  // whose row was given last
};

}  // namespace

Result<std::unique_ptr<TableScan>> make_scan(std::shared_ptr<TableClientImpl> client, std::string table,
                                             TableClientImpl::Route where, std::vector<std::uint32_t> partitions, KeyRange range,
                                             SnapshotId snapshot, std::unique_ptr<TemporarySnapshot> held) {
  auto scan = std::make_unique<MergedScan>(std::move(client), std::move(table), std::move(where), std::move(held));
  WEFT_TRY(scan->begin(partitions, range, snapshot));
  return std::unique_ptr<TableScan>(std::move(scan));
}

/// Snapshots can be read from every replica that is in sync: the nearest first, another one with each try.
std::string TableClientImpl::address_for(const PartitionStatus& partition, bool snapshot, std::uint32_t tries) const {
  std::vector<std::string> same_host, others;
  for (const MemberStatus& member : partition.members) {
    if (member.address.empty()) continue;
    if (!snapshot) {
      if (member.name == partition.primary) return member.address;
      continue;
    }
    if (!member.in_sync) continue;
    const bool here = member.host == options_.host || member.name == options_.host;
    if (member.name == partition.primary && !here)
      others.insert(others.begin(), member.address);
    else
      (here ? same_host : others).push_back(member.address);
  }
  same_host.insert(same_host.end(), others.begin(), others.end());
  return same_host.empty() ? std::string() : same_host[tries % same_host.size()];
}

/// The answers to several requests, which come on the reactor's thread.
class Answers {
 public:
  explicit Answers(std::size_t count) : replies_(count), left_(count) {}

  void arrived(std::size_t slot, Result<PartitionReply> reply) {
    const std::lock_guard lock(mutex_);
    replies_[slot].emplace(std::move(reply));
    if (--left_ == 0) changed_.notify_all();
  }
  /// All of them.
  std::vector<std::optional<Result<PartitionReply>>> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return left_ == 0; });
    return std::move(replies_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Result<PartitionReply>>> replies_;
  std::size_t left_;
};

namespace {

bool reads_snapshot(const PartitionOperation& operation) {
  const auto* const get = std::get_if<GetRows>(&operation);
  const auto* const scan = std::get_if<ScanRows>(&operation);
  return (get != nullptr && get->snapshot != SnapshotId()) || (scan != nullptr && scan->snapshot != SnapshotId());
}

/// What the master gave for the right that the request needs.
Result<void> show_key(const TableStatus& table, PartitionRequest& request) {
  const TableRight right = right_for(request.operation).value();
  const std::string& refusal = right == TableRight::read ? table.read_refusal : table.write_refusal;
  if (!refusal.empty()) return fail(Code::permission_denied, refusal);
  request.key = table.keys.of(right);
  return {};
}

/// It may have been carried out though its answer was lost.
void say_repeated(PartitionOperation& operation) {
  if (auto* const put = std::get_if<PutRows>(&operation)) put->repeated = true;
  if (auto* const stage = std::get_if<StageRows>(&operation)) stage->repeated = true;
}

}  // namespace

std::shared_ptr<Answers> TableClientImpl::send(const TableStatus& where, const std::vector<PartitionRequest>& requests,
                                               const std::vector<std::size_t>& open, std::uint32_t tries) {
  const auto answers = std::make_shared<Answers>(open.size());
  for (std::size_t slot = 0; slot < open.size(); ++slot) {
    const PartitionRequest& request = requests[open[slot]];
    const PartitionStatus& partition = where.partitions.at(request.place.partition);
    const std::string address = address_for(partition, reads_snapshot(request.operation), tries);
    if (address.empty()) {
      answers->arrived(slot, fail(Code::unavailable,
                                  fmt::format("partition {} of '{}' has no worker that can serve it{}{}", request.place.partition,
                                              where.name, partition.fault.empty() ? "" : ": ", partition.fault)));
      continue;
    }
    reactor_->post([this, address, answers, slot, &request] {
      peers_->ask(address, request, kRowsDeadline,
                  [answers, slot](Result<PartitionReply> reply) { answers->arrived(slot, std::move(reply)); });
    });
  }
  return answers;
}

Result<std::vector<PartitionReply>> TableClientImpl::ask_partitions(const std::string& table, std::vector<Part> parts,
                                                                    Route& where) {
  std::vector<PartitionRequest> requests;
  for (Part& part : parts) requests.push_back({{{}, part.partition}, 0, std::move(part.operation)});
  std::vector<PartitionReply> replies(requests.size());
  std::vector<std::size_t> open(requests.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  const auto failed = [&](Error why) { return fail(std::move(why).wrap(fmt::format("table '{}'", table))); };
  Retry retry(options_, kRowsPauses);
  const TableId id = where->id;
  for (std::uint32_t tries = 0; !open.empty(); ++tries) {
    if (tries > 0) {
      WEFT_ASSIGN(where, route(table, true));
    }
    if (where->id != id)
      return fail(Code::not_found, fmt::format("the table '{}' was dropped, and another one made under its name", table));
    for (PartitionRequest& request : requests) {
      request.place.table = where->id;
      WEFT_TRY(show_key(*where, request));
    }
    auto arrived = send(*where, requests, open, tries)->wait();
    std::vector<std::size_t> again;
    std::optional<Error> why;
    for (std::size_t slot = 0; slot < open.size(); ++slot) {
      Result<PartitionReply>& reply = *arrived[slot];
      if (reply) {
        replies[open[slot]] = std::move(*reply);
        continue;
      }
      if (!is_transient(reply.error())) return failed(std::move(reply).error());
      why = std::move(reply).error();
      say_repeated(requests[open[slot]].operation);
      again.push_back(open[slot]);
    }
    open = std::move(again);
    if (!open.empty() && !retry.wait(*why)) return failed(std::move(*why));
  }
  return replies;
}

/// Where nothing was dropped, one round is enough. Rows that another table got before are as if written before that was dropped.
template <class T>
Result<T> TableClientImpl::with_route(const std::string& table, const std::function<Result<T>(Route& where)>& carry_out) {
  WEFT_ASSIGN(Route where, route(table, false));
  for (int tables = 1;; ++tables) {
    const TableId id = where->id;
    Result<T> done = carry_out(where);
    if (done || where->id == id || tables == kMostTables) return done;
  }
}

Result<void> TableClientImpl::write(const std::string& table, const std::vector<TableWrite>& writes, const MakeOperation& make) {
  WEFT_TRY(check_writes(writes));
  return with_route<void>(table, [&](Route& where) { return write_by(where, table, writes, make); });
}

Result<void> TableClientImpl::write_by(Route& where, const std::string& table, const std::vector<TableWrite>& writes,
                                       const MakeOperation& make) {
  const auto partitions = static_cast<std::uint32_t>(where->partitions.size());
  std::vector<std::vector<TableWrite>> by_partition(partitions);
  std::vector<std::size_t> bytes(partitions);
  std::vector<Part> parts;
  const auto send = [&](std::uint32_t partition) {
    parts.push_back({partition, make(std::exchange(by_partition[partition], {}))});
    bytes[partition] = 0;
  };
  // Messages of one partition go one after the other, so that of one key the last write counts.
  const auto flush = [&]() -> Result<void> {
    for (std::uint32_t partition = 0; partition < partitions; ++partition)
      if (!by_partition[partition].empty()) send(partition);
    return ask_partitions(table, std::exchange(parts, {}), where).map([](auto&&) {});
  };
  for (const TableWrite& write : writes) {
    const std::uint32_t partition = partition_of(write.key, partitions);
    const std::size_t size = write.key.size() + (write.value ? write.value->size() : 0);
    if (bytes[partition] > 0 && bytes[partition] + size > kMessageBytes) WEFT_TRY(flush());
    bytes[partition] += size;
    by_partition[partition].push_back(write);
  }
  return flush();
}

Result<void> TableClientImpl::put(const std::string& table, std::vector<TableWrite> writes) {
  return write(table, writes, [](std::vector<TableWrite> some) { return PutRows{std::move(some), unguessable_number()}; });
}

Result<void> TableClientImpl::stage(const std::string& table, TransactionId id, std::uint64_t token,
                                    std::vector<TableWrite> writes) {
  return write(table, writes, [&](std::vector<TableWrite> some) {
    return StageRows{id, token, std::move(some), unguessable_number()};
  });
}

Result<std::vector<std::optional<std::string>>> TableClientImpl::get(const std::string& table, const std::vector<std::string>& keys,
                                                                     SnapshotId snapshot) {
  for (const std::string& key : keys) WEFT_TRY(check_key(key));
  return with_route<Found>(table, [&](Route& where) { return get_by(where, table, keys, snapshot); });
}

Result<TableClientImpl::Found> TableClientImpl::get_by(Route& where, const std::string& table, const std::vector<std::string>& keys,
                                                       SnapshotId snapshot) {
  std::map<std::uint32_t, std::vector<std::size_t>> by_partition;
  for (std::size_t i = 0; i < keys.size(); ++i)
    by_partition[partition_of(keys[i], static_cast<std::uint32_t>(where->partitions.size()))].push_back(i);
  std::vector<Part> parts;
  for (const auto& [partition, indexes] : by_partition) {
    GetRows get{snapshot, {}};
    for (const std::size_t i : indexes) get.keys.push_back(keys[i]);
    parts.push_back({partition, std::move(get)});
  }
  WEFT_ASSIGN(auto replies, ask_partitions(table, std::move(parts), where));
  Found values(keys.size());
  std::size_t part = 0;
  for (const auto& [partition, indexes] : by_partition) {
    WEFT_ASSIGN(Values answer, reply_to<GetRows>(Result<PartitionReply>(std::move(replies.at(part++)))));
    auto& found = answer.values;
    if (found.size() != indexes.size())
      return fail(Code::corrupt, "a worker answered with another number of values than was asked for");
    for (std::size_t i = 0; i < indexes.size(); ++i) values[indexes[i]] = std::move(found[i].value);
  }
  return values;
}

Result<std::unique_ptr<TableScan>> TableClientImpl::scan(const std::string& table, const KeyRange& range, SnapshotId snapshot) {
  std::unique_ptr<TemporarySnapshot> held;
  if (snapshot == SnapshotId()) {
    WEFT_ASSIGN(held, temporary_snapshot(table));
    snapshot = held->id();
  }
  WEFT_ASSIGN(Route where, route(table, false));
  std::vector<std::uint32_t> partitions(where->partitions.size());
  std::iota(partitions.begin(), partitions.end(), 0U);
  return make_scan(shared_from_this(), table, std::move(where), std::move(partitions), range, snapshot, std::move(held));
}

Result<std::unique_ptr<TableScan>> TableClientImpl::scan_partition(const std::string& table, std::uint32_t partition,
                                                                   SnapshotId snapshot) {
  WEFT_ASSIGN(Route where, route(table, false));
  if (partition >= where->partitions.size())
    return fail(Code::not_found, fmt::format("the table '{}' has {} partitions", table, where->partitions.size()));
  return make_scan(shared_from_this(), table, std::move(where), {partition}, {}, snapshot, nullptr);
}

}  // namespace weft::storage::tables
