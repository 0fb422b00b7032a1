#include "storage/tables/job_tables.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/remote_waiting.hpp"
#include "storage/tables/table_client.hpp"

namespace weft::storage::tables {
namespace {

struct Resolved {
  std::string table;
  SnapshotId snapshot;
};

Result<Resolved> parse(const std::string& path) {
  const auto at = path.rfind('@');
  const auto id = at == std::string::npos ? std::nullopt : parse_number<std::uint64_t>(std::string_view(path).substr(at + 1));
  if (!is_table(path) || !id) return fail(Code::corrupt, fmt::format("'{}' names no snapshot of a table", escaped(path)));
  return Resolved{path.substr(kTableScheme.size(), at - kTableScheme.size()), SnapshotId(*id)};
}

class Rows final : public RemoteRows {
 public:
  explicit Rows(std::unique_ptr<TableScan> scan) : scan_(std::move(scan)) {}
  Result<bool> next(std::string_view& key, std::string_view& value) override {
    WEFT_ASSIGN(const TableRow* const row, scan_->next());
    if (row == nullptr) return false;
    key = row->key;
    value = row->value;
    return true;
  }

 private:
  const std::unique_ptr<TableScan> scan_;
};

class JobTables final : public RemoteTables, public WaitsForMaster {
 public:
  JobTables(std::string master, std::string host, std::string user, Duration at_first)
      : master_(std::move(master)), host_(std::move(host)), user_(std::move(user)), at_first_(at_first) {}

  Result<std::string> resolve(const std::string& table, const std::string& snapshot) override {
    WEFT_TRY(check_table_name("table", table));
    WEFT_ASSIGN(const auto client, connected());
    if (!snapshot.empty()) {
      WEFT_ASSIGN(const SnapshotId named, client->find_snapshot(table, snapshot));
      return fmt::format("{}{}@{}", kTableScheme, table, named.value());
    }
    WEFT_ASSIGN(auto made, client->temporary_snapshot(table));
    const std::string resolved = fmt::format("{}{}@{}", kTableScheme, table, made->id().value());
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(made));
    return resolved;
  }

  Result<std::vector<SplitGroup>> splits(const std::string& resolved) override {
    WEFT_ASSIGN(const Resolved from, parse(resolved));
    WEFT_ASSIGN(const auto client, connected());
    WEFT_ASSIGN(const TableStatus status, client->describe(from.table));
    std::vector<SplitGroup> groups;
    for (std::uint32_t p = 0; p < status.partitions.size(); ++p) {
      std::set<std::string> hosts;
      for (const MemberStatus& member : status.partitions[p].members)
        if (member.in_sync && !member.address.empty()) hosts.insert(member.host);
      groups.push_back({Split{resolved, p, std::max<std::uint64_t>(status.partitions[p].bytes, 1), {hosts.begin(), hosts.end()}}});
    }
    return groups;
  }

  Result<std::unique_ptr<RemoteRows>> rows(const Split& split) override {
    WEFT_ASSIGN(const Resolved from, parse(split.path));
    WEFT_ASSIGN(const auto client, connected());
    WEFT_ASSIGN(auto scan, client->scan_partition(from.table, static_cast<std::uint32_t>(split.offset), from.snapshot));
    return std::unique_ptr<RemoteRows>(std::make_unique<Rows>(std::move(scan)));
  }

  Result<std::uint64_t> begin(const std::string& table) override {
    WEFT_TRY(check_table_name("table", table));
    WEFT_ASSIGN(const auto client, connected());
    return client->begin(table).map([](TransactionId id) { return id.value(); });
  }

  Result<void> keep(const std::string& table, std::uint64_t id) override {
    return connected().map([&](const auto& client) { client->resume(table, id); });
  }

  Result<void> stage(const std::string& table, std::uint64_t id, std::uint64_t token, std::vector<RemoteRow> rows) override {
    WEFT_ASSIGN(const auto client, connected());
    std::vector<TableWrite> writes;
    writes.reserve(rows.size());
    for (auto& [key, value] : rows) writes.push_back({std::move(key), std::move(value)});
    return client->stage(table, TransactionId(id), token, std::move(writes));
  }

  Result<void> commit(const std::string& table, std::uint64_t id, std::vector<std::uint64_t> tokens) override {
    WEFT_ASSIGN(const auto client, connected());
    return client->commit(table, TransactionId(id), std::move(tokens));
  }
  Result<void> abort(const std::string& table, std::uint64_t id) override {
    WEFT_ASSIGN(const auto client, connected());
    return client->abort(table, TransactionId(id));
  }
  void stop_waiting() override {
    const std::lock_guard lock(mutex_);
    waits_ = false;
    client_.reset();
  }

 private:
  Result<std::shared_ptr<TableClient>> connected() {
    const std::lock_guard lock(mutex_);
    if (client_) return client_;
    if (lost_) return fail(*lost_);
    if (master_.empty())
      return fail(Code::invalid_argument,
                  "tables are kept by a cluster: say --cluster HOST:PORT, or --files HOST:PORT, or set WEFT_MASTER");
    TableClientOptions options{.user = user_, .host = host_};
    options.at_first = at_first_;
    options.patience = std::max(options.patience, at_first_);
    if (!waits_) options.patience = Duration(0);
    auto made = TableClient::connect(master_, options);
    if (!made && !waits_) lost_ = made.error();
    WEFT_ASSIGN(client_, std::move(made));
    return client_;
  }

  const std::string master_, host_, user_;
  const Duration at_first_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<TableClient> client_;
  bool waits_ = true;
  std::optional<Error> lost_;  // the master is, and nobody waits for it
  std::vector<std::unique_ptr<TemporarySnapshot>> kept_;
};

}  // namespace

std::unique_ptr<RemoteTables> job_tables(std::string master, std::string host, std::string user, Duration at_first) {
  return std::make_unique<JobTables>(std::move(master), std::move(host), std::move(user), at_first);
}

}  // namespace weft::storage::tables
