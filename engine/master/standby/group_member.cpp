#include "engine/master/standby/group_member.hpp"

#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/directory_claim.hpp"
#include "base/private_directory.hpp"
#include "base/text.hpp"
#include "base/unguessable.hpp"
#include "engine/master/journal/journal_check.hpp"
#include "engine/master/standby/leader_link.hpp"
#include "engine/master/standby/lease_keeper.hpp"
#include "engine/master/standby/succession.hpp"

namespace weft::master {

namespace {

constexpr Duration kLook = std::chrono::milliseconds(200);  // between two looks at who leads
constexpr Duration kFollowAgain = std::chrono::seconds(5);  // after this member's disk has failed
constexpr Duration kTwinAgain = std::chrono::seconds(10);   // after it was refused, because another process has its member id
constexpr Duration kSayAgain = std::chrono::seconds(10);    // the same line in the log

std::string new_id() { return fmt::format("{:016x}", unguessable_number()); }

/// A disk may have room again, and a master that ends would not be there then.
tl::unexpected<Error> cannot_lead(Result<void> saved) {
  return fail(std::move(saved).error().wrap(Code::unavailable, "--data-dir"));
}

/// Whether the member begins a cluster.
bool begins(const Membership& member, const Election::Seen& seen) { return !seen.record && member.cluster.empty(); }

bool has_namespace(const std::string& directory) {
  std::error_code error;
  return std::filesystem::exists(directory + "/CURRENT", error);
}

/// Whether waiting can help.
bool may_pass(const Error& error) { return error.code() == Code::unavailable || error.code() == Code::deadline_exceeded; }

}  // namespace

Result<std::unique_ptr<GroupMember>> GroupMember::open(GroupOptions options, const MakeElection& make) {
  WEFT_TRY(make_private_directory(options.data_directory));
  auto claim = claim_directory(options.data_directory, "master");
  if (!claim) return fail(std::move(claim).error().wrap("--data-dir"));
  WEFT_ASSIGN(const auto known, read_membership(options.data_directory));
  const Membership membership = known.value_or(Membership{new_id(), "", 0, false});
  if (!known) WEFT_TRY(write_membership(options.data_directory, membership));
  WEFT_ASSIGN(auto election, make(membership.member));
  Log("master").info("{} is of master {}", options.data_directory, membership.member);
  return std::unique_ptr<GroupMember>(new GroupMember(std::move(options), membership, std::move(*claim), std::move(election)));
}

Result<std::unique_ptr<Leadership>> GroupMember::lead(const std::function<bool()>& stop) {
  while (!stop()) {
    const auto seen = election_->look();
    if (!seen && !may_pass(seen.error())) return fail(seen.error());
    if (!seen) {
      say(fmt::format("it cannot be seen who leads: {}", seen.error().to_string()));
    } else {
      WEFT_TRY(check(*seen));
      if (!twin_ && may_lead(membership_, options_.standby, *seen)) {
        auto leadership = take(*seen);
        if (!leadership && !may_pass(leadership.error())) return leadership;
        if (leadership && *leadership) return leadership;
        if (!leadership) say(fmt::format("this master cannot take the lead: {}", leadership.error().to_string()));
      } else if (seen->led && seen->record && seen->record->leader != membership_.member) {
        if (SystemClock().now() >= follow_at_) follow(*seen->record, stop);
      } else {
        say_what_is_awaited(*seen);
      }
    }
    std::this_thread::sleep_for(kLook);
  }
  return nullptr;
}

Result<void> GroupMember::check(const Election::Seen& seen) const {
  if (!seen.record || membership_.cluster.empty() || membership_.cluster == seen.record->cluster) return {};
  return fail(Code::invalid_argument,
              fmt::format("--data-dir: {} is of cluster {}, and these masters are of cluster {}; name another directory, or the "
                          "place in the store where that cluster's masters meet",
                          options_.data_directory, escaped(membership_.cluster), escaped(seen.record->cluster)));
}

/// Null: another master was quicker.
Result<std::unique_ptr<Leadership>> GroupMember::take(const Election::Seen& seen) {
  // With the record of a leader that cannot serve nobody else could lead.
  if (options_.can_serve)
    if (auto can = options_.can_serve(); !can) return fail(std::move(can).error().wrap(Code::unavailable, "it could not serve"));
  LeaderRecord record = next_record(membership_, options_.address, seen, new_id());
  const Membership before = membership_;
  // Before the lead is taken, and with it the others' right to it: what is here is whole, and is this cluster's.
  WEFT_ASSIGN(const std::string files, check_stores(seen));
  const bool fresh = (membership_.fresh || begins(membership_, seen)) && !has_all_stores();
  if (auto saved = save({membership_.member, record.cluster, record.epoch, false, fresh, files, membership_.mark}); !saved)
    return cannot_lead(std::move(saved));
  const TimePoint began = SystemClock().now();
  const auto taken = election_->take(seen, record);
  if (!taken) return fail(taken.error());
  if (!*taken) {
    if (auto saved = save(before); !saved) return cannot_lead(std::move(saved));
    return nullptr;
  }
  log_.info("this master leads cluster {} in epoch {}", record.cluster, record.epoch);
  said_.clear();
  return std::make_unique<LeaseKeeper>(*election_, std::move(record), options_.lease, began + options_.lease);
}

void GroupMember::stores_are_made() {
  if (!membership_.fresh) return;
  Membership made = membership_;
  made.fresh = false;
  if (const auto saved = save(std::move(made)); !saved)
    log_.error("{}; until it can be written, this member would also lead without what it keeps", saved.error().to_string());
}

/// Id that the namespace has; empty where there is none, and none is needed. The record may name this member as in sync, and its
/// disk not have what that is about: it was replaced, or the directory was restored in part.
Result<std::string> GroupMember::check_stores(const Election::Seen& seen) const {
  const std::string& journal = options_.paths.journal;
  const std::string& files = options_.paths.files;
  WEFT_ASSIGN(const std::string jobs_of, cluster_of_journal(journal));
  const bool has_files = has_namespace(files), needed = !membership_.fresh && (!begins(membership_, seen) || !jobs_of.empty());
  if (needed && !has_all_stores())
    return fail(incomplete(has_files ? "there is no journal " + journal : "there is no namespace in " + files));
  if (!has_files) return std::string();
  WEFT_ASSIGN(const auto store, storage::NamespaceStore::open(files));
  const std::string id = store->cluster_id();
  for (const auto& [what, other] :
       std::vector<std::pair<std::string, std::string>>{{"the journal " + journal, jobs_of}, {"member.json", membership_.files}})
    if (!other.empty() && other != id)
      return fail(incomplete(fmt::format("the files in {} are of cluster {}, and {} is of {}", files, id, what, escaped(other))));
  return id;
}

Error GroupMember::incomplete(const std::string& what) const {
  return Error(
      Code::invalid_argument,
      fmt::format("--data-dir: {} is not whole, and this master does not lead with it: {}; restore it whole, or start a master "
                  "that is in sync, which this one can copy",
                  options_.data_directory, what));
}

Result<void> GroupMember::save(Membership membership) {
  WEFT_TRY(write_membership(options_.data_directory, membership));
  membership_ = std::move(membership);
  return {};
}

/// What a master without a group has left, or an earlier release.
bool GroupMember::has_stores() const {
  std::error_code error;
  return std::filesystem::exists(options_.paths.journal, error) || std::filesystem::exists(options_.paths.files, error);
}

bool GroupMember::has_all_stores() const {
  std::error_code error;
  return std::filesystem::exists(options_.paths.journal, error) && has_namespace(options_.paths.files);
}

void GroupMember::follow(const LeaderRecord& leader, const std::function<bool()>& stop) {
  const Error why = follow_until_gone(leader, stop);
  if (!stop())
    say(fmt::format("master {} at {} cannot be followed: {}", escaped(leader.leader), escaped(leader.address), why.to_string()));
}

Error GroupMember::follow_until_gone(const LeaderRecord& leader, const std::function<bool()>& stop) {
  if (membership_.cluster.empty() && !membership_.copying && has_stores())
    return Error(Code::invalid_argument,
                 fmt::format("{} has jobs and files of its own, which a copy of that master's would replace; stop the others, "
                             "start this one first, and them with --standby; or name an empty directory",
                             options_.data_directory));
  auto link = LeaderLink::open(leader.address, {membership_.member, membership_.cluster, options_.address, options_.page, true},
                               options_.security);
  twin_ = !link && link.error().code() == Code::already_exists;
  if (twin_) follow_at_ = SystemClock().now() + kTwinAgain;
  if (!link) return link.error();
  const Following& found = (*link)->leader();
  if (found.epoch != leader.epoch)  // a master of before, which does not count on this one's copy
    return Error(Code::unavailable, fmt::format("the master there is of epoch {}, not of {}", found.epoch, leader.epoch));
  if (auto saved = save({membership_.member, found.cluster, found.epoch, true, false, "", mark_of(found)}); !saved)
    return saved.error();
  auto replica = Replica::begin(
      options_.paths, [&link = **link](const ProgramId& program, std::uint64_t offset) { return link.fetch(program, offset); });
  if (!replica) {
    follow_at_ = SystemClock().now() + kFollowAgain;
    return replica.error();
  }
  log_.info("this master stands by: it copies what master {} at {} keeps", escaped(leader.leader), escaped(leader.address));
  said_.clear();
  bool in_sync = false;
  while (!stop()) {
    const auto pulled = (*link)->pull();
    if (!pulled) return Error(pulled.error()).wrap("it was followed until now");
    if (auto applied = (*replica)->apply(pulled->entries); !applied) {
      follow_at_ = SystemClock().now() + kFollowAgain;
      return applied.error();
    }
    if (!std::exchange(in_sync, pulled->in_sync) && in_sync)
      log_.info("this master has everything, and takes over when {} is gone", escaped(leader.address));
  }
  return Error(Code::cancelled, "this master ends");
}

/// A line that says what it said last only now and then.
void GroupMember::say(const std::string& what) {
  const TimePoint now = SystemClock().now();
  if (what == said_ && now - said_at_ < kSayAgain) return;
  said_ = what;
  said_at_ = now;
  log_.warn("{}", what);
}

void GroupMember::say_what_is_awaited(const Election::Seen& seen) {
  if (!seen.record)
    return say(membership_.copying
                   ? "no master has led yet, and what is in this one's data directory may be incomplete: it waits for another"
                   : "no master has led yet, and this one was started with --standby: it waits for another");
  if (seen.led)
    return say(
        fmt::format("this member's own lease of before has not ended yet; if that lasts, another process leads with the "
                    "member id {}: then this data directory was copied; empty it, so that this master gets an id of its own",
                    membership_.member));
  if (is_outdated(membership_, seen))
    return say(
        "this master's data directory is older than what it acknowledged (a restored copy?): another member in sync must lead, "
        "which this one then copies; docs/cluster.md says what to do when all members in sync are lost for ever");
  if (twin_)
    return say(
        fmt::format("another process has the member id {}, and this one does not lead with its copy: empty this data "
                    "directory, so that this master gets an id of its own",
                    membership_.member));
  say(fmt::format("only masters {} have everything that was acknowledged, and none of them is there: this one waits for them",
                  escaped(fmt::format("{}", fmt::join(seen.record->in_sync, ", ")))));
}

}  // namespace weft::master
