// One client of the cluster's tables, told by scripts/chaos what to do: a command a line on standard input, its result a line on
// standard output.
//
//   chaos_tables_client MASTER
//
//   create TABLE PARTITIONS REPLICATION
//   put TABLE KEY=VALUE …                each key for itself: they need not appear together
//   get TABLE KEY …                      each key for itself
//   commit TABLE KEY=VALUE …             all of them, in one transaction
//   abort TABLE KEY=VALUE …              the same, aborted when it is staged
//   scan TABLE PREFIX                    a snapshot, and all its rows with this prefix
//   snapshot TABLE NAME PREFIX           the same of a snapshot with a name
//   again TABLE NAME PREFIX              what that has
//
// A result is RESULT, tab, CALL, tab, RETURN, and then a tab and KEY=VALUE for each row that was read, or a tab and the error's
// text. RESULT is "ok", "none" (what was to be written is not written, and will not be) or "unknown". CALL and RETURN are
// nanoseconds of the monotonic clock, which all processes of a machine share: right before and right after what decides what is
// seen, which for a snapshot is its making.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "storage/tables/table_client.hpp"

namespace {

using weft::Error;
using weft::Result;
using weft::storage::tables::KeyRange;
using weft::storage::tables::SnapshotId;
using weft::storage::tables::TableClient;
using weft::storage::tables::TableClientOptions;
using weft::storage::tables::TableWrite;

using Words = std::vector<std::string>;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Outcome {
  std::string result = "ok";
  std::int64_t call = now(), returned = 0;
  std::string rest;  // what is printed behind the times

  void add_row(const std::string& key, const std::string& value) { rest += "\t" + key + "=" + value; }
  void ends() { returned = now(); }
  void fails(const char* how, const Error& error) {
    if (returned == 0) ends();
    result = how;
    rest = error.to_string();
    for (char& c : rest) c = c == '\n' || c == '\t' ? ' ' : c;
    rest.insert(0, "\t");
  }
};

std::vector<TableWrite> writes_of(const Words& words) {
  std::vector<TableWrite> writes;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    writes.push_back({words[i].substr(0, equals), words[i].substr(equals + 1)});
  }
  return writes;
}

Outcome create(TableClient& tables, const Words& words) {
  Outcome outcome;
  const auto number = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(words.at(i))); };
  if (const auto made = tables.create(words.at(1), {number(2), number(3)}); !made) outcome.fails("unknown", made.error());
  outcome.ends();
  return outcome;
}

Outcome put(TableClient& tables, const Words& words) {
  Outcome outcome;
  const auto done = tables.put(words.at(1), writes_of(words));
  outcome.ends();
  if (!done) outcome.fails("unknown", done.error());
  return outcome;
}

Outcome get(TableClient& tables, const Words& words) {
  Outcome outcome;
  const Words keys(words.begin() + 2, words.end());
  const auto values = tables.get(words.at(1), keys);
  outcome.ends();
  if (!values) {
    outcome.fails("none", values.error());
    return outcome;
  }
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (const auto& value = (*values)[i]) outcome.add_row(keys[i], *value);
  return outcome;
}

Outcome transaction(TableClient& tables, const Words& words) {
  constexpr std::uint64_t kToken = 7;
  Outcome outcome;
  const std::string& table = words.at(1);
  const auto id = tables.begin(table);
  if (!id) {
    outcome.fails("none", id.error());
    return outcome;
  }
  if (const auto staged = tables.stage(table, *id, kToken, writes_of(words)); !staged) {
    outcome.fails("none", staged.error());
    return outcome;
  }
  const bool aborts = words.at(0) == "abort";
  const auto done = aborts ? tables.abort(table, *id) : tables.commit(table, *id, {kToken});
  outcome.ends();
  if (!done) outcome.fails(aborts ? "none" : "unknown", done.error());
  return outcome;
}

/// Adds the rows of the snapshot to the outcome.
void read(TableClient& tables, const std::string& table, const std::string& prefix, SnapshotId snapshot, Outcome& outcome) {
  const auto scan = tables.scan(table, KeyRange::prefix(prefix), snapshot);
  if (!scan) return outcome.fails("none", scan.error());
  for (;;) {
    const auto row = (*scan)->next();
    if (!row) return outcome.fails("none", row.error());
    if (*row == nullptr) return;
    outcome.add_row(std::string((*row)->key), std::string((*row)->value));
  }
}

Outcome scan(TableClient& tables, const Words& words) {
  Outcome outcome;
  const auto snapshot = tables.temporary_snapshot(words.at(1));
  outcome.ends();
  if (snapshot)
    read(tables, words.at(1), words.size() > 2 ? words[2] : "", (*snapshot)->id(), outcome);
  else
    outcome.fails("none", snapshot.error());
  return outcome;
}

Outcome named(TableClient& tables, const Words& words) {
  Outcome outcome;
  const auto snapshot =
      words.at(0) == "snapshot" ? tables.snapshot(words.at(1), words.at(2)) : tables.find_snapshot(words.at(1), words.at(2));
  outcome.ends();
  if (snapshot)
    read(tables, words.at(1), words.size() > 3 ? words[3] : "", *snapshot, outcome);
  else
    outcome.fails("none", snapshot.error());
  return outcome;
}

Outcome run(TableClient& tables, const Words& words) {
  const std::string& command = words.at(0);
  if (command == "create") return create(tables, words);
  if (command == "put") return put(tables, words);
  if (command == "get") return get(tables, words);
  if (command == "commit" || command == "abort") return transaction(tables, words);
  if (command == "scan") return scan(tables, words);
  return named(tables, words);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: chaos_tables_client MASTER\n");
    return 2;
  }
  TableClientOptions options;
  options.patience = std::chrono::seconds(60);
  std::shared_ptr<TableClient> tables;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    Outcome outcome;
    const auto connected = tables ? Result<std::shared_ptr<TableClient>>(tables) : TableClient::connect(argv[1], options);
    if (connected) {
      tables = *connected;
      outcome = run(*tables, words);
    } else {
      outcome.fails("none", connected.error());
    }
    std::printf("%s\t%lld\t%lld%s\n", outcome.result.c_str(), static_cast<long long>(outcome.call),
                static_cast<long long>(outcome.returned), outcome.rest.c_str());
    std::fflush(stdout);
  }
}
