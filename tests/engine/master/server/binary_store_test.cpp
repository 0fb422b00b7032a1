#include "engine/master/server/binary_store.hpp"

#include <chrono>
#include <filesystem>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.hpp"

namespace weft::master {
namespace {

namespace fs = std::filesystem;

class BinaryStoreTest : public testing::Test {
 protected:
  BinaryStoreTest() : dir_(TempDir::create().value()) {
    EXPECT_TRUE(write_file(dir_.path() / "program", content_));
    hash_ = hash_file(dir_.path() / "program").value();
    fs::create_directory(dir_.path() / "store");
    program_ = {hash_, "alice"};
  }
  std::string partial() const { return dir_.path() / "store" / (file_name(program_) + ".1.partial"); }  // the first upload's
  Result<void> upload(BinaryStore& store, std::size_t from, std::size_t to) {
    return store.write(alice_, hash_, from, content_.size(), as_bytes(content_).subspan(from, to - from));
  }

  const std::string content_ = std::string(1000, 'p') + std::string(1000, 'q');
  TempDir dir_;
  Hash128 hash_{};
  ProgramId program_{};  // of alice
  const Uploader alice_{"alice", this};
};

TEST_F(BinaryStoreTest, APlantedLinkIsNotWrittenThrough) {
  ASSERT_TRUE(write_file(dir_.path() / "precious", "precious"));
  fs::create_symlink(dir_.path() / "precious", partial());
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  ASSERT_TRUE(upload(store, 0, 700));
  ASSERT_TRUE(upload(store, 700, 2000));
  EXPECT_TRUE(store.knows(program_));
  EXPECT_EQ(*read_file(dir_.path() / "precious"), "precious");

  BinaryStore other(dir_.path() / "store", BinaryStore::Keep::for_this_run);
  fs::remove(dir_.path() / "store" / file_name(program_));
  ASSERT_TRUE(upload(other, 0, 700));
  fs::remove(partial());
  fs::create_symlink(dir_.path() / "precious", partial());  // in the middle
  EXPECT_FALSE(upload(other, 700, 2000));
  EXPECT_EQ(*read_file(dir_.path() / "precious"), "precious");
  EXPECT_TRUE(upload(other, 0, 2000)) << "begins again";
}

TEST_F(BinaryStoreTest, WhatAKilledMasterLeftIsDroppedAndSeveralMayUploadTheSame) {
  ASSERT_TRUE(write_file(partial(), std::string(5000, 'x')));
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  ASSERT_TRUE(upload(store, 0, 1500));
  ASSERT_TRUE(upload(store, 0, 500));  // another driver
  ASSERT_TRUE(upload(store, 1500, 2000));
  EXPECT_TRUE(store.knows(program_));
  ASSERT_TRUE(upload(store, 500, 2000)) << "it is known by then";
  EXPECT_FALSE(fs::exists(partial()));
}

TEST_F(BinaryStoreTest, WhatIsNotWhatWasAnnouncedIsRefusedAndNotKept) {
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  const std::string other(content_.size(), 'x');
  EXPECT_EQ(store.write(alice_, hash_, 0, other.size(), as_bytes(other)).error().code(), Code::corrupt);
  EXPECT_FALSE(store.knows(program_));
  EXPECT_FALSE(fs::exists(partial()));
  ASSERT_TRUE(upload(store, 0, 2000)) << "the next try begins again";
  EXPECT_TRUE(store.knows(program_));
}

/// A file with a hole of gigabytes would take long to read.
TEST_F(BinaryStoreTest, APieceThatLeavesAGapIsRefusedAndTakesNoRoom) {
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  EXPECT_EQ(upload(store, 1999, 2000).error().code(), Code::invalid_argument);
  EXPECT_FALSE(fs::exists(partial()));
  ASSERT_TRUE(upload(store, 0, 700));
  EXPECT_EQ(upload(store, 701, 2000).error().code(), Code::invalid_argument);
  EXPECT_EQ(fs::file_size(partial()), 700u);
  EXPECT_EQ(store.write(alice_, hash_, 0, 1'000'000, as_bytes(content_)).error().code(), Code::invalid_argument) << "another size";
  ASSERT_TRUE(upload(store, 600, 2000)) << "partly there";
  EXPECT_TRUE(store.knows(program_));
}

TEST_F(BinaryStoreTest, AnUploadEndsWithTheConnectionsThatItCameBy) {
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  const int second = 0;
  ASSERT_TRUE(upload(store, 0, 700));
  ASSERT_TRUE(store.write({"alice", &second}, hash_, 0, content_.size(), as_bytes(content_).first(500)));
  store.forget(this);
  EXPECT_TRUE(fs::exists(partial())) << "another driver of hers is at it";
  store.forget(&second);
  EXPECT_FALSE(fs::exists(partial()));
  EXPECT_EQ(upload(store, 700, 2000).error().code(), Code::invalid_argument);
  ASSERT_TRUE(upload(store, 0, 2000));
  EXPECT_TRUE(store.knows(program_));
}

TEST_F(BinaryStoreTest, WhatOneUserUploadsIsNoPartOfAnothersProgram) {
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  const int other = 0;
  const Uploader mallory{"mallory", &other};
  const std::string garbage(content_.size(), 'x');
  ASSERT_TRUE(store.write(mallory, hash_, 0, garbage.size(), as_bytes(garbage).first(1500)));
  ASSERT_TRUE(upload(store, 0, 700));
  ASSERT_TRUE(upload(store, 700, 2000));
  EXPECT_TRUE(store.knows(program_));
  EXPECT_EQ(store.write(mallory, hash_, 1500, garbage.size(), as_bytes(garbage).subspan(1500)).error().code(), Code::corrupt);
  EXPECT_FALSE(store.knows({hash_, "mallory"}));
  EXPECT_EQ(*read_file(dir_.path() / "store" / file_name(program_)), content_);
}

/// Another program with the same hash takes a second to make. Here it is written over what the store has accepted.
TEST_F(BinaryStoreTest, TwoUsersWithTheSameHashHaveTheirOwnPrograms) {
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  const ProgramId of_bob{hash_, "bob"};
  std::vector<ProgramId> named;
  store.on_new([&named](const ProgramId& program) { named.push_back(program); });
  ASSERT_TRUE(store.write({"bob", this}, hash_, 0, content_.size(), as_bytes(content_)));
  EXPECT_TRUE(store.knows(of_bob));
  EXPECT_FALSE(store.knows(program_)) << "so alice uploads hers";
  EXPECT_EQ(store.read(program_, 0, 10).error().code(), Code::not_found);
  EXPECT_EQ(store.only_with(hash_).value(), of_bob);
  const std::string others(content_.size(), 'b');
  ASSERT_TRUE(write_file(dir_.path() / "store" / file_name(of_bob), others));
  ASSERT_TRUE(upload(store, 0, 2000));
  EXPECT_EQ(as_chars(store.read(program_, 0, 2000)->bytes.view()), content_);
  EXPECT_EQ(as_chars(store.read(of_bob, 0, 2000)->bytes.view()), others);
  EXPECT_EQ(named, (std::vector{of_bob, program_}));
  EXPECT_EQ(store.only_with(hash_).error().code(), Code::version_mismatch) << "a worker of an earlier release names nobody";
  EXPECT_EQ(store.only_with(Hash128{1, 2}).error().code(), Code::not_found);
}

TEST_F(BinaryStoreTest, WhatAnEarlierReleaseKeptForAllBecomesThatOfTheUsersWhoseJobsRun) {
  const fs::path of_all = dir_.path() / "store" / to_string(hash_);
  ASSERT_TRUE(write_file(of_all, content_));
  {
    BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
    EXPECT_FALSE(store.knows(program_));
    EXPECT_TRUE(store.recover(program_));
    EXPECT_TRUE(store.recover({hash_, "bob"}));
    EXPECT_FALSE(store.recover({Hash128{1, 2}, "bob"}));
    store.end_recovery({program_});
    EXPECT_TRUE(store.knows(program_) && store.knows({hash_, "bob"}));
    EXPECT_FALSE(fs::exists(of_all)) << "jobs that come later bring their own";
    EXPECT_FALSE(store.recover({hash_, "carol"}));
    EXPECT_EQ(as_chars(store.read(program_, 0, 2000)->bytes.view()), content_);
  }
  ASSERT_TRUE(write_file(of_all, content_));
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  store.end_recovery({ProgramId{hash_, ""}});
  EXPECT_TRUE(store.recover({hash_, ""})) << "a job without a user needs it";
}

TEST_F(BinaryStoreTest, NamesOfFilesAreThoseOfOneProgramEach) {
  const std::string hash = to_string(hash_);
  EXPECT_EQ(file_name(ProgramId{hash_, ""}), hash);
  EXPECT_EQ(file_name(ProgramId{hash_, "alice-2_B"}), hash + "-alice-2_B");
  EXPECT_EQ(file_name(ProgramId{hash_, "../a.partial%"}), hash + "-%2E%2E%2Fa%2Epartial%25");
  for (const std::string& user :
       {std::string(), std::string("alice"), std::string("%41"), std::string("a\0b", 3), std::string("\xc3\xa9")}) {
    const ProgramId program{hash_, user};
    EXPECT_EQ(runtime::protocol::parse_program(file_name(program)), program);
  }
  for (const std::string& name :
       std::vector<std::string>{"-", "-%41", "-%4", "-%", "-%2f", "-%zz", "alice", ".partial", "-a.1.partial", "-a/b"})
    EXPECT_EQ(runtime::protocol::parse_program(hash + name), std::nullopt) << name;
  EXPECT_EQ(runtime::protocol::parse_program(hash.substr(1)), std::nullopt);
  EXPECT_TRUE(runtime::protocol::is_nameable(std::string(200, 'a')));
  EXPECT_FALSE(runtime::protocol::is_nameable(std::string(201, 'a')));
  EXPECT_FALSE(runtime::protocol::is_nameable(std::string(67, '.')));
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  const std::string longest(200, 'a'), too_long(256, '.');
  EXPECT_TRUE(store.write({longest, this}, hash_, 0, content_.size(), as_bytes(content_)));
  EXPECT_FALSE(store.write({too_long, this}, hash_, 0, content_.size(), as_bytes(content_)));
  EXPECT_FALSE(store.knows({hash_, too_long}));
}

TEST_F(BinaryStoreTest, UnfinishedUploadsOfAUserAreBounded) {
  constexpr std::uint64_t kMebibyte = 1u << 20;
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably, 4 * kMebibyte);
  const std::string bytes(kMebibyte, 'x');
  const auto begin = [&](const Uploader& uploader, std::uint64_t number) {
    return store.write(uploader, Hash128{number, number}, 0, 2 * kMebibyte, as_bytes(bytes));
  };
  for (const std::uint64_t number : {1u, 2u, 3u}) EXPECT_TRUE(begin(alice_, number));
  EXPECT_EQ(begin(alice_, 4).error().code(), Code::resource_exhausted);
  EXPECT_EQ(store.write(alice_, Hash128{5, 5}, 0, 2, as_bytes("x")).error().code(), Code::resource_exhausted)
      << "files without bytes count, too";
  EXPECT_TRUE(begin({"bob", this}, 4));
  store.forget(this);
  EXPECT_TRUE(fs::is_empty(dir_.path() / "store"));
  EXPECT_TRUE(begin(alice_, 4));
}

TEST_F(BinaryStoreTest, PiecesLieInsideTheirProgram) {
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  const ByteView bytes = as_bytes(content_);
  EXPECT_EQ(store.write(alice_, hash_, 1500, 2000, bytes.first(501)).error().code(), Code::invalid_argument);
  EXPECT_EQ(store.write(alice_, hash_, 2001, 2000, bytes.first(1)).error().code(), Code::invalid_argument);
  EXPECT_EQ(store.write(alice_, hash_, 0, 2000, {}).error().code(), Code::invalid_argument);
  EXPECT_EQ(store.write(alice_, hash_, 0, (std::uint64_t{2} << 30) + 1, bytes).error().code(), Code::invalid_argument);
  ASSERT_TRUE(upload(store, 0, 2000));
  EXPECT_EQ(store.read(program_, 2001, 10).error().code(), Code::invalid_argument);
  EXPECT_TRUE(store.read(program_, 2000, 10)->bytes.empty());
  const auto piece = store.read(program_, 990, 20);
  ASSERT_TRUE(piece);
  EXPECT_EQ(as_chars(piece->bytes.view()), std::string(10, 'p') + std::string(10, 'q'));
  EXPECT_EQ(store.read({Hash128{}, "alice"}, 0, 1).error().code(), Code::not_found);
}

TEST_F(BinaryStoreTest, AProgramWhoseFileIsGoneOrCutOffIsTakenAgain) {
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  const fs::path file = dir_.path() / "store" / file_name(program_);
  int calls = 0;
  store.on_new([&calls](const ProgramId&) { ++calls; });
  ASSERT_TRUE(upload(store, 0, 2000));
  fs::remove(file);
  EXPECT_FALSE(store.knows(program_));
  EXPECT_EQ(store.read(program_, 0, 10).error().code(), Code::not_found);
  ASSERT_TRUE(upload(store, 0, 2000));
  EXPECT_EQ(*read_file(file), content_);
  EXPECT_EQ(calls, 2) << "followers hear of it";
  fs::resize_file(file, 1000);
  ASSERT_TRUE(upload(store, 0, 700)) << "without knows() before it";
  ASSERT_TRUE(upload(store, 700, 2000));
  EXPECT_EQ(*read_file(file), content_);
  EXPECT_TRUE(store.knows(program_));
}

TEST_F(BinaryStoreTest, KeepsWhatIsWantedAndOfTheRestTheLatest) {
  const auto program = [](std::uint64_t number) { return ProgramId{Hash128{number, number}, "alice"}; };
  const auto at = [&](std::uint64_t number) { return dir_.path() / "store" / file_name(program(number)); };
  for (const std::uint64_t number : {1u, 2u, 3u, 4u}) {
    ASSERT_TRUE(write_file(at(number), std::string(100, 'x')));
    fs::last_write_time(at(number), fs::file_time_type::clock::now() - std::chrono::hours(10 - number));
  }
  ASSERT_TRUE(write_file(partial(), "half"));
  BinaryStore(dir_.path() / "store", BinaryStore::Keep::for_this_run).clean([&] { return std::set{program(1)}; }, 200);
  EXPECT_FALSE(fs::exists(partial()));
  EXPECT_TRUE(fs::exists(at(1))) << "a job needs it";
  EXPECT_FALSE(fs::exists(at(2)));
  EXPECT_FALSE(fs::exists(at(3)));
  EXPECT_TRUE(fs::exists(at(4)));
}

TEST_F(BinaryStoreTest, BeyondItsBoundThoseGoThatWereNeededLongestAgo) {
  BinaryStore store(dir_.path() / "store", BinaryStore::Keep::durably);
  std::set<ProgramId> wanted;
  store.bound(5000, [&wanted] { return wanted; });
  std::vector<ProgramId> programs;
  const auto add = [&](char content) {
    const std::string bytes(2000, content);
    EXPECT_TRUE(write_file(dir_.path() / "program", bytes));
    programs.push_back({hash_file(dir_.path() / "program").value(), "alice"});
    EXPECT_TRUE(store.write(alice_, programs.back().hash, 0, bytes.size(), as_bytes(bytes)));
    const auto file = dir_.path() / "store" / file_name(programs.back());  // times of files are coarse
    fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(10) + std::chrono::minutes(programs.size()));
  };
  add('a');
  add('b');
  store.mention(programs[0]);
  ASSERT_TRUE(upload(store, 0, 700)) << "of another one, which takes its time";
  add('c');
  EXPECT_TRUE(store.knows(programs[0]) && store.knows(programs[2]));
  EXPECT_FALSE(store.knows(programs[1])) << "it must be uploaded again";
  EXPECT_EQ(store.read(programs[1], 0, 10).error().code(), Code::not_found);
  wanted = {programs[2]};
  add('d');
  EXPECT_TRUE(store.knows(programs[2]) && store.knows(programs[3])) << "one of a job, and the one that is new";
  EXPECT_FALSE(store.knows(programs[0]));
  EXPECT_TRUE(upload(store, 700, 2000));
  EXPECT_TRUE(store.knows(program_));
}

}  // namespace
}  // namespace weft::master
