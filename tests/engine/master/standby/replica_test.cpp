#include "engine/master/standby/replica.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc32c.hpp"
#include "base/file.hpp"
#include "base/private_directory.hpp"
#include "engine/master/replication/changes.hpp"
#include "tests/releases/grown.hpp"
#include "tests/support/process.hpp"

namespace weft::master {
namespace {

using testing::HasSubstr;

LogEntry entry(Store store, std::string_view bytes, const std::string& user = "") {
  return {store, SharedBytes(Buffer::copy_of(as_bytes(bytes))), user};
}

JournalRecord record(std::uint64_t next_job) {
  JournalRecord made;
  made.marks.next_job = next_job;
  return made;
}

class AReplica : public testing::Test {
 protected:
  Result<std::unique_ptr<Replica>> begin() {
    return Replica::begin(paths, [this](const ProgramId& wanted, std::uint64_t offset) -> Result<BinaryStore::Piece> {
      ++fetches;
      users.insert(wanted.user);
      if (wanted.hash != hash128(as_bytes(program))) return fail(Code::not_found, "no such program");
      const std::size_t length = std::min<std::size_t>(1000, program.size() - offset);
      return BinaryStore::Piece{Buffer::copy_of(as_bytes(program).subspan(offset, length)), program.size()};
    });
  }
  std::string read(storage::NamespaceStore& store, const std::string& wanted) {
    const auto records = store.records();
    while (true) {
      const auto some = records->next(10).value();
      if (some.empty()) return "";
      for (const storage::Change& each : some)
        if (each.key == wanted) return *each.value;
    }
  }

  weft::test::ScratchDirectory scratch;
  const StorePaths paths{scratch / "journal", scratch / "files", scratch / "programs", scratch / "profiles"};
  const std::string program = std::string(4500, 'p');
  int fetches = 0;
  std::set<std::string> users;  // whose programs were fetched
};

TEST_F(AReplica, HasOnItsDiskWhatItWasGiven) {
  const auto replica = begin().value();
  const LogEntry files{Store::files, to_bytes(Changes{{{"k1", "v1"}, {"k2", "v2"}, {"k1", std::nullopt}}})};
  const LogEntry profiles{Store::profiles, to_bytes(Changes{{{"p", "x"}}})};
  ASSERT_TRUE(replica->apply({entry(Store::journal, to_frame(record(5)) + to_frame(record(7))), files, profiles,
                              entry(Store::programs, to_string(hash128(as_bytes(program))))}));
  // Read from the disk by others, while it is open.
  const auto copy = scratch / "copy";
  std::filesystem::copy_file(paths.journal, copy);
  EXPECT_EQ(JournalFile::open(copy, {}).value().history().value().marks.next_job, 7u);
  std::filesystem::copy(paths.files, scratch / "files-copy");
  std::filesystem::remove(scratch / "files-copy/LOCK");
  const auto store = storage::NamespaceStore::open(scratch / "files-copy").value();
  EXPECT_EQ(read(*store, "k1"), "");
  EXPECT_EQ(read(*store, "k2"), "v2");
  BinaryStore programs(paths.programs, BinaryStore::Keep::durably);
  EXPECT_TRUE(programs.knows({hash128(as_bytes(program)), ""}));
  EXPECT_EQ(fetches, 5);
}

/// What a later release writes into a record is there when that release leads again.
TEST_F(AReplica, KeepsRecordsAsTheLeaderWroteThem) {
  const std::string frame = to_frame(record(5));
  const Buffer payload = releases::grown(as_bytes(frame).subspan(kRecordHeaderBytes));
  std::string later;
  const auto put = [&later](std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) later.push_back(static_cast<char>(value >> shift & 0xff));
  };
  put(static_cast<std::uint32_t>(payload.size()));
  put(crc32c(payload.view()));
  put(crc32c(as_bytes(later)));
  later.append(as_chars(payload.view()));
  ASSERT_TRUE(begin().value()->apply({entry(Store::journal, later)}));
  EXPECT_THAT(weft::test::read_file(paths.journal), testing::EndsWith(later));
  EXPECT_EQ(JournalFile::open(paths.journal, {}).value().history().value().marks.next_job, 5u);
}

TEST_F(AReplica, TakesTheClusterIdOfTheLeaderWithAllOtherRecords) {
  const auto leaders = storage::NamespaceStore::open(scratch / "leaders").value();
  {
    const auto replica = begin().value();
    Changes all;
    const auto records = leaders->records()->next(1u << 20).value();
    for (const storage::Change& each : records) all.changes.emplace_back(each.key, each.value);
    ASSERT_TRUE(replica->apply({{Store::files, to_bytes(all)}}));
  }
  EXPECT_EQ(storage::NamespaceStore::open(paths.files).value()->cluster_id(), leaders->cluster_id());
}

TEST_F(AReplica, BeginsWithNothingButThePrograms) {
  {
    const auto replica = begin().value();
    ASSERT_TRUE(replica->apply({entry(Store::journal, to_frame(record(5))),
                                {Store::files, to_bytes(Changes{{{"k", "v"}}})},
                                entry(Store::programs, to_string(hash128(as_bytes(program))))}));
  }
  fetches = 0;
  {
    const auto again = begin().value();
    ASSERT_TRUE(again->apply({entry(Store::programs, to_string(hash128(as_bytes(program))))}));
  }
  EXPECT_EQ(fetches, 0);
  EXPECT_EQ(JournalFile::open(paths.journal, {}).value().history().value().marks.next_job, 1u);
  EXPECT_EQ(read(*storage::NamespaceStore::open(paths.files).value(), "k"), "");
}

TEST_F(AReplica, FetchesAProgramForEachUserWhoHasIt) {
  const auto replica = begin().value();
  const Hash128 hash = hash128(as_bytes(program));
  ASSERT_TRUE(replica->apply({entry(Store::programs, to_string(hash), "alice"), entry(Store::programs, to_string(hash), "bob")}));
  EXPECT_EQ(fetches, 10);
  EXPECT_EQ(users, (std::set<std::string>{"alice", "bob"}));
  BinaryStore programs(paths.programs, BinaryStore::Keep::durably);
  EXPECT_TRUE(programs.knows({hash, "alice"}) && programs.knows({hash, "bob"}));
  EXPECT_FALSE(programs.knows({hash, ""}));
}

TEST_F(AReplica, KeepsNoMoreProgramsThanTheLeader) {
  std::map<Hash128, std::string> programs;
  const auto program_of = [&](char letter) {
    std::string bytes(1000, letter);
    const Hash128 hash = hash128(as_bytes(bytes));
    programs[hash] = std::move(bytes);
    return hash;
  };
  const Hash128 of_job = program_of('a'), old = program_of('b'), last = program_of('c');
  ASSERT_TRUE(make_private_directory(paths.programs));
  ASSERT_TRUE(write_file(paths.programs + "/" + std::string(32, 'f') + ".partial", "half"));
  const auto replica = Replica::begin(
                           paths,
                           [&](const ProgramId& wanted, std::uint64_t offset) -> Result<BinaryStore::Piece> {
                             const ByteView bytes = as_bytes(programs.at(wanted.hash));
                             return BinaryStore::Piece{Buffer::copy_of(bytes.subspan(offset)), bytes.size()};
                           },
                           2000)
                           .value();
  client::Submit submit;
  submit.name = "count";
  submit.binary = of_job;
  submit.options.user = "alice";
  JournalRecord submission;
  submission.job = JobId(7);
  submission.fact = SubmissionFact{.submit = std::string(as_chars(client::encode(submit).header.view()))};
  ASSERT_TRUE(replica->apply({entry(Store::journal, to_frame(submission))}));
  const auto ago = [](int hours) { return std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours); };
  // One without a user is named by a leader of an earlier release.
  const ProgramId by_user{of_job, "alice"}, by_hash{of_job, ""}, of_another{of_job, "bob"};
  for (const ProgramId& named : {by_user, by_hash, of_another, ProgramId{old, "alice"}}) {
    ASSERT_TRUE(replica->apply({entry(Store::programs, to_string(named.hash), named.user)}));
    const std::string file = paths.programs + "/" + file_name(named);
    if (std::filesystem::exists(file)) std::filesystem::last_write_time(file, ago(9));
  }
  const ProgramId latest{last, "alice"};
  ASSERT_TRUE(replica->apply({entry(Store::programs, to_string(latest.hash), latest.user)}));
  std::set<std::string> kept;
  for (const auto& file : std::filesystem::directory_iterator(paths.programs)) kept.insert(file.path().filename());
  EXPECT_EQ(kept, (std::set{file_name(by_user), file_name(by_hash), file_name(latest)}));
}

TEST_F(AReplica, RefusesWhatItDoesNotUnderstand) {
  const auto replica = begin().value();
  std::string wrong = to_frame(record(5));
  wrong.back() = static_cast<char>(wrong.back() ^ 1);
  EXPECT_THAT(replica->apply({entry(Store::journal, wrong)}).error().to_string(), HasSubstr("checksum"));
  EXPECT_FALSE(replica->apply({entry(Store::journal, to_frame(record(5)).substr(0, 20))}));
  EXPECT_FALSE(replica->apply({entry(Store::files, "nonsense")}));
  EXPECT_THAT(replica->apply({entry(Store::programs, "../../x")}).error().to_string(), HasSubstr("is no hash of a program"));
  EXPECT_THAT(replica->apply({entry(Store::programs, std::string(32, '0'))}).error().to_string(), HasSubstr("no such program"));
}

}  // namespace
}  // namespace weft::master
