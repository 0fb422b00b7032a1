#include "engine/master/storage/table_coordinator.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weft::master {

using namespace storage::tables;

namespace {

constexpr std::size_t kMostJobs = 64;  // of a table, in line

}  // namespace

bool TableCoordinator::led_as_before(const TableStatus& before) const {
  const auto now = parts_.catalogue.describe(before.name);
  const auto same = [](const PartitionStatus& a, const PartitionStatus& b) { return a.epoch == b.epoch && a.primary == b.primary; };
  return now && now->id == before.id &&
         std::equal(now->partitions.begin(), now->partitions.end(), before.partitions.begin(), before.partitions.end(), same);
}

/// With all its partitions. Where one has no primary nothing is asked of the others, which would be held for nothing.
Result<TableStatus> TableCoordinator::led(const std::string& name) const {
  WEFT_ASSIGN(TableStatus table, parts_.catalogue.describe(name));
  if (auto all = check_led(table); !all)
    return fail(std::move(all).error().wrap(fmt::format("the table '{}' cannot be held", name)));
  return table;
}

/// A later ticket ends earlier holds, too: the jobs of a table are in line, so that nothing needs those any more.
void TableCoordinator::release(const std::string& name, std::uint64_t ticket) {
  const auto table = parts_.catalogue.describe(name);
  if (!table) return;
  TableBarrier::Partitions all;
  for (std::uint32_t p = 0; p < table->partitions.size(); ++p) all.insert(p);
  release_some(*table, all, ticket, false);
}

/// A primary that is away may come back in the same epoch, with its hold.
void TableCoordinator::release_some(const TableStatus& table, const TableBarrier::Partitions& partitions, std::uint64_t ticket,
                                    bool again) {
  barrier_.those_led(table, partitions, Release{ticket},
                     [this, name = table.name, ticket, again](const TableBarrier::Partitions& failed) {
                       if (failed.empty() && !again) return;
                       const bool others_follow = !again && unreleased_.contains(name);
                       Unreleased& left = unreleased_[name];
                       left.ticket = std::max(left.ticket, ticket);
                       left.partitions.insert(failed.begin(), failed.end());
                       if (left.partitions.empty()) return void(unreleased_.erase(name));
                       if (!others_follow) barrier_.later([this, name] { release_again(name); });
                     });
}

/// One at a time for each table, however many of its requests have failed.
void TableCoordinator::release_again(const std::string& name) {
  const auto table = parts_.catalogue.describe(name);
  if (!table) return void(unreleased_.erase(name));
  Unreleased& left = unreleased_.at(name);
  release_some(*table, std::exchange(left.partitions, {}), left.ticket, true);
}

/// The line is bounded: it stands still while a decided commit waits for a partition that is away.
void TableCoordinator::in_line(const std::string& table, storage::Time patience, std::function<void(const Error&)> refused,
                               TableBarrier::Job job) {
  if (barrier_.jobs(table) >= kMostJobs)
    return barrier_.later([table, refused = std::move(refused)] {
      refused(Error(Code::unavailable, fmt::format("{} requests wait for the table '{}' already", kMostJobs, table)));
    });
  const storage::Time given_up = parts_.now() + patience;
  barrier_.in_line(
      table, [this, table, given_up, refused = std::move(refused), job = std::move(job)](const std::function<void()>& finished) {
        if (parts_.now() <= given_up) return job(finished);
        refused(Error(Code::unavailable, fmt::format("the requests for the table '{}' that came before took too long", table)));
        finished();
      });
}

void TableCoordinator::take_snapshot(TakeSnapshot request, std::int64_t clock_ms, OnSnapshot done) {
  resume_commits();  // in line before it: part of a commit is no moment of the table
  const std::string table = request.table;
  const auto refused = [done](const Error& why) { done(fail(why)); };
  in_line(table, kSnapshotDeadline, refused,
          [this, request = std::move(request), clock_ms, done = std::move(done)](const std::function<void()>& finished) {
            make_snapshot(request, clock_ms, done, finished);
          });
}

void TableCoordinator::make_snapshot(const TakeSnapshot& request, std::int64_t clock_ms, const OnSnapshot& done,
                                     const std::function<void()>& finished) {
  const auto made_durable = [this, done, finished](SnapshotId id) {
    parts_.publish([done, id](const Result<void>& written) { written ? done(id) : done(fail(written.error())); });
    finished();
  };
  if (const auto before = parts_.catalogue.made_before(request.table, request.token); before && *before != SnapshotId())
    return made_durable(*before);
  const auto table = led(request.table);
  const auto id = table ? parts_.catalogue.begin_snapshot(request.table, request.name, request.token, clock_ms, parts_.now())
                        : fail(table.error());
  if (!id) {
    done(fail(id.error()));
    return finished();
  }
  const std::uint64_t ticket = barrier_.ticket();
  const auto failed = [this, name = request.table, done, finished, id = *id, ticket](const Error& cause) {
    release(name, ticket);
    (void)parts_.catalogue.drop_snapshot(name, "", id);
    const Error why = Error(cause).wrap(fmt::format("cannot take a snapshot of '{}'", name));
    parts_.publish([done, why](const Result<void>&) { done(fail(why)); });
    finished();
  };
  // A restart would give an id again that no record has.
  parts_.publish([=, this, table = *table, id = *id](const Result<void>& written) {
    if (!written) return failed(written.error());
    barrier_.each(table, Hold{ticket, false}, [=, this](const Result<void>& held) {
      if (!held) return failed(held.error());
      barrier_.each(table, Mark{ticket, id}, [=, this](const Result<void>& marked) {
        if (!marked) return failed(marked.error());
        if (const auto made = parts_.catalogue.complete_snapshot(table.name, id); !made) return failed(made.error());
        made_durable(id);
      });
    });
  });
}

void TableCoordinator::commit(CommitTransaction request, OnDone done) {
  resume_commits();
  const std::string table = request.table;
  const auto refused = [done](const Error& why) { done(fail(why)); };
  in_line(table, kCommitDeadline, refused,
          [this, request = std::move(request), done = std::move(done)](const std::function<void()>& finished) {
            hold_and_decide(request, done, finished);
          });
}

void TableCoordinator::hold_and_decide(const CommitTransaction& request, const OnDone& done,
                                       const std::function<void()>& finished) {
  if (parts_.catalogue.is_committed(request.table, request.commit.id)) {  // an earlier answer was lost
    parts_.publish(done);
    return finished();
  }
  const auto table = led(request.table);
  if (!table) {
    done(fail(table.error()));
    return finished();
  }
  const std::uint64_t ticket = barrier_.ticket();
  const storage::Time decisive = parts_.now() + kHoldDecisive;
  barrier_.each(*table, Hold{ticket, true}, [=, this, table = *table](Result<void> held) {
    if (held && parts_.now() > decisive) held = fail(Code::unavailable, "its partitions took too long to be held");
    // A primary that has taken over since holds nothing, and may answer a reader before it knows the decision.
    if (held && !led_as_before(table)) held = fail(Code::unavailable, "one of its partitions has another primary now");
    const auto fresh = held ? parts_.catalogue.decide(table.name, request.commit) : fail(held.error());
    if (fresh && *fresh) return decided(request, ticket, done, finished);
    release(table.name, ticket);
    if (fresh)  // an earlier answer was lost
      parts_.publish(done);
    else
      done(fail(Error(fresh.error()).wrap(fmt::format("cannot commit what was written to '{}'", table.name))));
    finished();
  });
}

/// Nobody carries out what a restart may forget.
void TableCoordinator::decided(const CommitTransaction& request, std::uint64_t ticket, const OnDone& done,
                               const std::function<void()>& finished) {
  under_way_.insert(request.table);
  parts_.publish([this, request, ticket, done, finished](const Result<void>& written) {
    if (!written) {
      under_way_.erase(request.table);  // resume_commits() makes it durable first
      release(request.table, ticket);
      done(fail(written.error()));
      return finished();
    }
    carry_out(request.table, request.commit, ticket, [this, request, ticket, done, finished] {
      (void)parts_.catalogue.complete_commit(request.table, request.commit.id);
      under_way_.erase(request.table);
      parts_.publish([this, table = request.table, ticket, done](const Result<void>& completed) {
        release(table, ticket);
        done(completed);
      });
      finished();
    });
  });
}

void TableCoordinator::carry_out(const std::string& name, const TableCommit& commit, std::uint64_t ticket,
                                 std::function<void()> done) {
  const auto table = parts_.catalogue.describe(name);
  if (!table) return done();  // it was dropped
  barrier_.each(*table, Commit{ticket, commit}, [this, name, commit, ticket, done](const Result<void>& carried_out) {
    if (carried_out) return done();
    log_.debug("commit to '{}': {}", name, carried_out.error().to_string());
    barrier_.later([this, name, commit, ticket, done] { carry_out(name, commit, ticket, done); });
  });
}

/// What an earlier master decided. Its holds ended with it.
void TableCoordinator::resume_commits() {
  for (const auto& [table, commit] : parts_.catalogue.decided()) {
    if (!under_way_.insert(table).second) continue;
    barrier_.in_line(table, [this, table = table, commit = commit](const std::function<void()>& finished) {
      parts_.publish([this, table, commit, finished](const Result<void>& written) {
        const auto done = [this, table, finished] {
          under_way_.erase(table);
          finished();
        };
        if (!written) return done();
        carry_out(table, commit, 0, [this, table, id = commit.id, done] {
          (void)parts_.catalogue.complete_commit(table, id);
          done();
        });
      });
    });
  }
}

}  // namespace weft::master
