#include "storage/chunks/chunk_store.hpp"

#include <filesystem>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "base/sanitized.hpp"
#include "storage/chunks/damaged_chunk.hpp"
#include "tests/storage/chunk_fixture.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSizes[] = {0, 1, 100, 4095, 65'535, 65'536, 65'537, 131'072, 1'000'000, 3'000'001};

TEST_F(ChunkStoreTest, ReturnsWhatWasWrittenHoweverItWasCut) {
  std::vector<ChunkInfo> written;
  auto store = open_store(quiet_options(two()));
  Random random(1);
  for (const std::size_t size : kSizes) {
    const ChunkId id(written.size() + 1);
    const auto content = std::make_shared<const std::string>(content_of(id.value(), size));
    auto appender = store->create(id, random.below(2 * size + 1));
    ASSERT_TRUE(appender);
    for (std::size_t at = 0; at < size;) {
      const std::size_t step = std::min<std::size_t>(random.below(size / (1u << random.below(7)) + 2), size - at);
      const ByteView piece = as_bytes(std::string_view(*content).substr(at, step));
      if (random.below(4) == 0) {
        std::vector<std::byte> passing(piece.begin(), piece.end());
        ASSERT_TRUE((*appender)->append(passing));
        std::fill(passing.begin(), passing.end(), std::byte{0});  // nobody keeps these
      } else {
        ASSERT_TRUE((*appender)->append(piece, content));
      }
      at += step;
    }
    EXPECT_FALSE(store->find(id));  // not before it is sealed
    const auto info = (*appender)->seal();
    ASSERT_TRUE(info) << info.error().to_string();
    EXPECT_EQ(info->length, size);
    written.push_back(*info);
  }
  const auto check = [&] {
    ASSERT_EQ(store->list().size(), written.size());
    for (const ChunkInfo& info : written) {
      EXPECT_EQ(store->find(info.id).value_or(ChunkInfo{}), info);
      expect_content(*store, info);
      const std::string content = content_of(info.id.value(), info.length);
      for (int i = 0; i < 20; ++i) {
        const std::uint64_t offset = random.below(info.length + 10);
        std::string part(random.below(200'000), '\0');
        const auto got = store->read(info.id, offset, {reinterpret_cast<std::byte*>(part.data()), part.size()});
        ASSERT_TRUE(got);
        const std::string expected = offset < content.size() ? content.substr(offset, part.size()) : "";
        EXPECT_TRUE(part.substr(0, *got) == expected) << info.length << " from " << offset;
      }
    }
  };
  check();
  store.reset();
  store = open_store(quiet_options(two()));
  check();
}

TEST_F(ChunkStoreTest, NoticesEveryFlippedBitOfAChunkFile) {
  auto store = open_store(quiet_options(one()));
  const ChunkInfo info = put_chunk(*store, ChunkId(1), content_of(1, 66'000));  // two pages
  const auto damaged = [&]() -> Result<void> {
    WEFT_ASSIGN(const auto file, ChunkFile::open(Fd(::open(chunk_path(1).c_str(), O_RDONLY)), info));
    return file->verify(0, info.length);
  };
  ASSERT_TRUE(damaged());
  const std::uint64_t bits = size_of(chunk_path(1)) * 8;
  for (std::uint64_t bit = 0; bit < bits; bit += bit < info.length * 8 ? 97 : 1) {
    flip_bit(chunk_path(1), bit);
    const auto found = damaged();
    ASSERT_FALSE(found) << "bit " << bit;
    EXPECT_EQ(found.error().code(), Code::corrupt);
    flip_bit(chunk_path(1), bit);
  }
  ASSERT_TRUE(damaged());
}

TEST_F(ChunkStoreTest, SetsDamagedChunksAsideOnceAndTakesNewReplicas) {
  auto store = open_store(quiet_options(one(), events_.listener()));
  const ChunkInfo info = put_chunk(*store, ChunkId(1), content_of(1, 150));
  for (std::uint64_t bit = 0; bit < size_of(chunk_path(1)) * 8; bit += 53) {
    flip_bit(chunk_path(1), bit);
    const auto read = read_chunk(*store, info);
    ASSERT_FALSE(read) << "bit " << bit;
    EXPECT_EQ(read.error().code(), Code::corrupt);
    EXPECT_EQ(read_chunk(*store, info).error().code(), Code::not_found);
    EXPECT_EQ(store->quarantined().size(), 1u);
    put_chunk(*store, ChunkId(1), content_of(1, 150));  // from another replica
    EXPECT_TRUE(store->quarantined().empty());
  }
  EXPECT_EQ(events_.of(ChunkEvent::corrupt), std::set{ChunkId(1)});
}

TEST_F(ChunkStoreTest, NoticesFlippedBitsInLargeChunksAndServesTheRest) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    auto store = open_store(quiet_options({scratch_ / ("s" + std::to_string(seed))}));
    const ChunkInfo info = put_chunk(*store, ChunkId(9), content_of(9, 1 + random.below(700'000)));
    const std::string path = scratch_ / ("s" + std::to_string(seed) + "/chunks/" + hex_name(9));
    const auto file = store->open_chunk(ChunkId(9));
    ASSERT_TRUE(file);
    const std::uint64_t bit = random.below(info.length * 8);
    flip_bit(path, bit);
    const std::uint64_t bad = bit / 8 / kPageBytes;
    for (std::uint64_t page = 0; page < page_count(info.length); ++page)
      EXPECT_EQ((*file)->verify(page * kPageBytes, 1).has_value(), page != bad);
    if (random.chance(0.5)) {
      EXPECT_EQ(store->check(ChunkId(9)).error().code(), Code::corrupt);
    } else {
      std::byte one{};
      EXPECT_EQ(store->read(ChunkId(9), bit / 8, {&one, 1}).error().code(), Code::corrupt);
    }
    EXPECT_EQ(store->find(ChunkId(9)).error().code(), Code::not_found);
  }
}

TEST_F(ChunkStoreTest, LosesNothingWhateverBitOfItsOwnFilesIsFlipped) {
  std::vector<ChunkInfo> written;
  {
    auto store = open_store(quiet_options(one()));
    for (std::uint64_t id = 1; id <= 5; ++id) written.push_back(put_chunk(*store, ChunkId(id), content_of(id, id * 1000)));
    store->erase(std::array{ChunkId(5)});
    written.pop_back();
  }
  Random random(4);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> files = {scratch_ / "a/weft-chunks"};
    for (const auto& entry : fs::directory_iterator(scratch_ / "a/index"))
      if (entry.is_regular_file() && entry.file_size() != 0) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    const std::string& file = files[random.below(files.size())];
    const std::uint64_t bit = random.below(size_of(file) * 8);
    SCOPED_TRACE(file + " bit " + std::to_string(bit));
    flip_bit(file, bit);
    auto store = open_store(quiet_options(one()));
    ASSERT_NE(store, nullptr);
    ASSERT_EQ(store->list().size(), written.size());
    for (const ChunkInfo& info : written) expect_content(*store, info);
  }
}

TEST_F(ChunkStoreTest, MakesALostOrDamagedIndexAgain) {
  std::vector<ChunkInfo> written;
  {
    auto store = open_store(quiet_options(one()));
    for (std::uint64_t id = 1; id <= 20; ++id) written.push_back(put_chunk(*store, ChunkId(id), content_of(id, id * 777)));
  }
  const auto check = [&] {
    auto store = open_store(quiet_options(one(), events_.listener()));
    ASSERT_NE(store, nullptr);
    ASSERT_EQ(store->list().size(), written.size());
    for (const ChunkInfo& info : written) expect_content(*store, info);
  };
  fs::remove_all(scratch_ / "a/index");
  check();
  for (const auto& entry : fs::directory_iterator(scratch_ / "a/index")) test::write_file(entry.path(), "this is no database\n");
  check();
  fs::remove_all(scratch_ / "a/index");
  test::write_file(scratch_ / "a/index", "not even a directory");
  check();
  EXPECT_TRUE(events_.of(ChunkEvent::lost).empty());
  EXPECT_TRUE(events_.of(ChunkEvent::corrupt).empty());
}

TEST_F(ChunkStoreTest, DropsWhatIsUnsealed) {
  {
    auto store = open_store(quiet_options(one()));
    auto abandoned = store->create(ChunkId(1));
    ASSERT_TRUE((*abandoned)->append(as_bytes("abandoned")));
    EXPECT_EQ(store->create(ChunkId(1)).error().code(), Code::already_exists);
    abandoned->reset();
    EXPECT_TRUE(test::entries(scratch_ / "a/unsealed").empty());
    EXPECT_TRUE(store->create(ChunkId(1)));
  }
  test::write_file(scratch_ / ("a/unsealed/" + hex_name(2)), "left by a crash");
  auto store = open_store(quiet_options(one()));
  EXPECT_TRUE(store->list().empty());
  EXPECT_TRUE(test::entries(scratch_ / "a/unsealed").empty());
}

TEST_F(ChunkStoreTest, KeepsEverySealedChunkWhenKilledAtAnyMoment) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 10u : 30u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::string directory = scratch_ / ("k" + std::to_string(seed));
    test::Process child({CHUNK_CHILD, "write", directory, std::to_string(seed)});
    const std::size_t enough = random.below(12) * 6;  // bytes of output to wait for
    ASSERT_TRUE(test::eventually([&] { return child.out_so_far().size() >= enough; }));
    ::usleep(static_cast<useconds_t>(random.below(4000)));
    child.signal(SIGKILL);
    const std::string out = child.wait().out;
    auto store = open_store(quiet_options({directory}, events_.listener()));
    ASSERT_NE(store, nullptr);
    std::istringstream lines(out.substr(0, out.rfind('\n') + 1));
    std::uint64_t acknowledged = 0, id = 0, length = 0;
    for (; lines >> id >> length; ++acknowledged) EXPECT_EQ(store->find(ChunkId(id)).value_or(ChunkInfo{}).length, length);
    const auto chunks = store->list();
    EXPECT_GE(chunks.size(), acknowledged);
    EXPECT_LE(chunks.size(), acknowledged + 2);  // one that was not yet told, and a line cut off
    for (const StoredChunk& chunk : chunks) expect_content(*store, chunk.info);
    EXPECT_TRUE(test::entries(directory + "/unsealed").empty());
  }
  EXPECT_TRUE(events_.of(ChunkEvent::corrupt).empty());
}

TEST_F(ChunkStoreTest, RefusesDirectoriesThatAreNotItsOwn) {
  put_chunk(*open_store(quiet_options(one())), ChunkId(1), "mine");
  auto other = quiet_options(one());
  other.cluster_id = "another";
  EXPECT_EQ(error_of(other), Code::version_mismatch);
  fs::remove(scratch_ / "a/weft-chunks");  // then the chunks say whose they are
  EXPECT_EQ(error_of(other), Code::version_mismatch);
  {
    auto store = open_store(quiet_options(one()));
    EXPECT_EQ(store->list().size(), 1u);
    EXPECT_EQ(error_of(quiet_options(one())), Code::already_exists);  // in use
  }
  fs::create_directories(scratch_ / "c");
  test::write_file(scratch_ / "c/letters.txt", "somebody's");
  EXPECT_EQ(error_of(quiet_options({scratch_ / "c"})), Code::invalid_argument);
  EXPECT_EQ(test::read_file(scratch_ / "c/letters.txt"), "somebody's");
  EXPECT_EQ(error_of(quiet_options({})), Code::invalid_argument);
  other.cluster_id = "no spaces\n";
  EXPECT_EQ(error_of(other), Code::invalid_argument);
}

TEST_F(ChunkStoreTest, RefusesOtherFormatVersions) {
  put_chunk(*open_store(quiet_options(one())), ChunkId(1), "mine");
  const std::string text = "weft chunk directory\nversion 2\ncluster test-cluster\n";
  char check[32];
  std::snprintf(check, sizeof check, "check %08x\n", crc32c(as_bytes(text)));
  test::write_file(scratch_ / "a/weft-chunks", text + check);
  EXPECT_EQ(error_of(quiet_options(one())), Code::version_mismatch);
}

TEST_F(ChunkStoreTest, GoesOnWithoutADirectoryThatCannotBeOpened) {
  test::write_file(scratch_ / "b", "a file where a directory should be");
  auto store = open_store(quiet_options(two()));
  ASSERT_NE(store, nullptr);
  const ChunkInfo info = put_chunk(*store, ChunkId(1), content_of(1, 1000));
  expect_content(*store, info);
  const auto space = store->space();
  ASSERT_EQ(space.size(), 2u);
  EXPECT_FALSE(space[0].failure);
  EXPECT_TRUE(space[1].failure);
  EXPECT_EQ(space[1].available, 0u);
}

TEST_F(ChunkStoreTest, ReportsADirectoryThatGoesAwayAndUsesTheOthers) {
  auto store = open_store(quiet_options(two(), events_.listener()));
  std::set<ChunkId> in_a, in_b;
  std::vector<std::unique_ptr<ChunkAppender>> open;  // their reservations make the directories take turns
  for (std::uint64_t id = 1; id <= 10; ++id) {
    auto appender = store->create(ChunkId(id), 1u << 30);
    ASSERT_TRUE(appender);
    ASSERT_TRUE((*appender)->append(as_bytes(content_of(id, 5000))));
    open.push_back(std::move(*appender));
  }
  for (auto& appender : open) ASSERT_TRUE(appender->seal());
  for (const StoredChunk& chunk : store->list()) (chunk.directory == 0 ? in_a : in_b).insert(chunk.info.id);
  ASSERT_FALSE(in_a.empty());
  ASSERT_FALSE(in_b.empty());
  fs::rename(scratch_ / "a", scratch_ / "gone");
  for (const ChunkId id : in_a) EXPECT_EQ(store->open_chunk(id).error().code(), Code::not_found);
  EXPECT_EQ(events_.of(ChunkEvent::lost), in_a);
  for (const ChunkId id : in_b) expect_content(*store, *store->find(id));
  EXPECT_TRUE(store->space()[0].failure);
  put_chunk(*store, ChunkId(20), content_of(20, 1000));
  EXPECT_TRUE(fs::exists(chunk_path(20, "b")));
}

TEST_F(ChunkStoreTest, ADirectoryThatRefusesASealedChunkTakesNoMore) {
  auto store = open_store(quiet_options(two(), events_.listener()));
  auto appender = store->create(ChunkId(1), 1000);
  ASSERT_TRUE(appender);
  ASSERT_TRUE((*appender)->append(as_bytes(content_of(1, 1000))));
  const bool in_a = fs::exists(scratch_ / ("a/unsealed/" + hex_name(1)));
  const std::string bad = in_a ? "a" : "b", good = in_a ? "b" : "a";
  fs::create_directory(chunk_path(1, bad));  // in whose place no file can be put
  const auto sealed = (*appender)->seal();
  EXPECT_EQ(sealed ? Code::internal : sealed.error().code(), Code::io);
  EXPECT_TRUE(store->space()[in_a ? 0 : 1].failure);
  EXPECT_FALSE(store->space()[in_a ? 1 : 0].failure);
  EXPECT_FALSE(store->find(ChunkId(1)));
  EXPECT_TRUE(test::entries(scratch_ / (bad + "/unsealed")).empty());
  std::vector<std::unique_ptr<ChunkAppender>> open;  // each of whose reservations makes the other directory the roomier one
  for (std::uint64_t id = 2; id <= 5; ++id) {
    auto next = store->create(ChunkId(id), 1u << 30);
    ASSERT_TRUE(next);
    EXPECT_TRUE(fs::exists(scratch_ / (good + "/unsealed/" + hex_name(id))));
    open.push_back(std::move(*next));
  }
  put_chunk(*store, ChunkId(1), content_of(1, 1000));
  EXPECT_TRUE(fs::is_regular_file(chunk_path(1, good)));
}

TEST_F(ChunkStoreTest, ReportsAFileThatIsGone) {
  auto store = open_store(quiet_options(one(), events_.listener()));
  const ChunkInfo first = put_chunk(*store, ChunkId(1), content_of(1, 100));
  put_chunk(*store, ChunkId(2), content_of(2, 100));
  fs::remove(chunk_path(1));
  EXPECT_EQ(read_chunk(*store, first).error().code(), Code::not_found);
  EXPECT_EQ(events_.of(ChunkEvent::lost), std::set{ChunkId(1)});
  store.reset();
  fs::remove(chunk_path(2));
  store = open_store(quiet_options(one(), events_.listener()));
  EXPECT_TRUE(store->list().empty());
  EXPECT_EQ(events_.of(ChunkEvent::lost), (std::set{ChunkId(1), ChunkId(2)}));
}

TEST_F(ChunkStoreTest, AFileThatCannotBeOpenedIsKept) {
  auto store = open_store(quiet_options(one(), events_.listener()));
  const ChunkInfo info = put_chunk(*store, ChunkId(1), content_of(1, 100));
  const std::string kept = scratch_ / "kept";
  fs::rename(chunk_path(1), kept);
  fs::create_symlink(chunk_path(1), chunk_path(1));  // to itself: for the superuser, too, an open that fails
  const auto read = read_chunk(*store, info);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().code(), Code::not_found);
  EXPECT_TRUE(fs::is_symlink(chunk_path(1)));
  EXPECT_TRUE(store->find(ChunkId(1)));
  fs::rename(kept, chunk_path(1));
  expect_content(*store, info);
  EXPECT_TRUE(events_.of(ChunkEvent::lost).empty());
  EXPECT_TRUE(events_.of(ChunkEvent::corrupt).empty());
}

TEST_F(ChunkStoreTest, ACopyInAnotherDirectoryMakesNoWholeChunkDamaged) {
  ChunkInfo info;
  {
    auto store = open_store(quiet_options(one()));
    info = put_chunk(*store, ChunkId(1), content_of(1, 100'000));
    open_store(quiet_options({scratch_ / "b"}));
  }
  fs::copy_file(chunk_path(1), chunk_path(1, "b"));
  for (const char* how : {"found", "set aside before"}) {
    SCOPED_TRACE(how);
    auto store = open_store(quiet_options(two(), events_.listener()));
    ASSERT_EQ(store->list().size(), 1u);
    EXPECT_TRUE(store->quarantined().empty());
    EXPECT_TRUE(fs::exists(scratch_ / ("b/quarantine/" + hex_name(1))));
    expect_content(*store, info);
  }
  auto store = open_store(quiet_options(two(), events_.listener()));
  flip_bit(chunk_path(1), 8 * 70'000);
  EXPECT_EQ(store->check(ChunkId(1)).error().code(), Code::corrupt);
  EXPECT_FALSE(store->quarantined().empty());  // now it is
  store->erase(std::array{ChunkId(1)});
  EXPECT_TRUE(store->quarantined().empty());
  EXPECT_TRUE(test::entries(scratch_ / "a/quarantine").empty());
  EXPECT_TRUE(test::entries(scratch_ / "b/quarantine").empty());
}

TEST_F(ChunkStoreTest, SetsATruncatedFileAsideWithoutCrashing) {
  auto store = open_store(quiet_options(one(), events_.listener()));
  const ChunkInfo info = put_chunk(*store, ChunkId(1), content_of(1, 500'000));
  const auto mapped = store->open_chunk(ChunkId(1));
  ASSERT_TRUE(mapped);
  fs::resize_file(chunk_path(1), 100'000);
  EXPECT_EQ((*mapped)->verify(0, info.length).error().code(), Code::corrupt);  // not a signal
  store.reset();
  store = open_store(quiet_options(one(), events_.listener()));
  EXPECT_TRUE(store->list().empty());
  EXPECT_EQ(store->quarantined().size(), 1u);
  EXPECT_EQ(events_.of(ChunkEvent::corrupt), std::set{ChunkId(1)});
}

TEST_F(ChunkStoreTest, TheScrubberFindsWhatNobodyReads) {
  auto options = quiet_options(two(), events_.listener());
  options.scrub_rate = 1u << 30;
  options.scrub_interval = std::chrono::milliseconds(1);
  auto store = open_store(options);
  for (std::uint64_t id = 1; id <= 6; ++id) put_chunk(*store, ChunkId(id), content_of(id, id * 100'000));
  const std::string directory = store->list()[3].directory == 0 ? "a" : "b";
  flip_bit(chunk_path(4, directory), 8 * 400'000 + 5);  // in its trailer, which readers of pages may never look at
  EXPECT_TRUE(test::eventually([&] { return events_.of(ChunkEvent::corrupt) == std::set{ChunkId(4)}; }));
  EXPECT_EQ(store->list().size(), 5u);
  EXPECT_EQ(store->quarantined().size(), 1u);
  store.reset();
  store = open_store(quiet_options(two()));
  EXPECT_EQ(store->list().size(), 5u);
  EXPECT_EQ(store->quarantined().size(), 1u);
  store->erase(std::array{ChunkId(4)});
  EXPECT_TRUE(store->quarantined().empty());
  EXPECT_TRUE(test::entries(scratch_ / (directory + "/quarantine")).empty());
}

TEST_F(ChunkStoreTest, ClosingDoesNotWaitForASlowScrubber) {
  auto options = quiet_options(one());
  put_chunk(*open_store(options), ChunkId(1), content_of(1, 8u << 20));
  options.scrub_rate = 1;  // a byte a second: nothing beyond the first step is read, and closing does not wait for it
  options.scrub_interval = std::chrono::milliseconds(1);
  const auto began = std::chrono::steady_clock::now();
  open_store(options).reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
}

TEST_F(ChunkStoreTest, RefusesAChunkThatIsNotWhatItsWriterSent) {
  auto store = open_store(quiet_options(one(), events_.listener()));
  auto appender = store->create(ChunkId(1));
  ASSERT_TRUE((*appender)->append(as_bytes("damaged on the way")));
  EXPECT_EQ((*appender)->seal(ChunkInfo{ChunkId(1), 18, 12345}).error().code(), Code::corrupt);
  EXPECT_TRUE(store->list().empty());
  EXPECT_TRUE(test::entries(scratch_ / "a/unsealed").empty());
  EXPECT_TRUE(test::entries(scratch_ / "a/chunks").empty());
  EXPECT_TRUE(events_.of(ChunkEvent::sealed).empty());
}

TEST_F(ChunkStoreTest, ReadersKeepWhatIsErased) {
  auto store = open_store(quiet_options(one()));
  put_chunk(*store, ChunkId(1), content_of(1, 200'000));
  const auto file = store->open_chunk(ChunkId(1));
  ASSERT_TRUE(file);
  store->erase(std::array{ChunkId(1)});
  EXPECT_EQ(store->open_chunk(ChunkId(1)).error().code(), Code::not_found);
  EXPECT_TRUE((*file)->verify(0, 200'000));
  EXPECT_TRUE(as_chars((*file)->bytes()) == content_of(1, 200'000));
}

TEST_F(ChunkStoreTest, ErasuresAreToldInOrderWithWhatElseHappens) {
  // Whoever goes along with the events knows what is here, however many threads write and erase the same chunks.
  std::mutex mutex;
  std::map<ChunkId, bool> here;
  std::map<ChunkId, int> erased;
  auto store = open_store(quiet_options(two(), [&](ChunkEvent event, std::span<const ChunkInfo> chunks) {
    const std::lock_guard lock(mutex);
    for (const ChunkInfo& info : chunks) {
      here[info.id] = event == ChunkEvent::sealed;
      if (event == ChunkEvent::erased) ++erased[info.id];
    }
  }));
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    threads.emplace_back([&store, seed] {
      Random random(seed);
      for (int i = 0; i < 300; ++i) {
        const ChunkId id(1 + random.below(3));
        if (seed % 2 == 0) {
          store->erase(std::array{id});
        } else if (auto appender = store->create(id, 100)) {
          EXPECT_TRUE((*appender)->append(as_bytes(content_of(id.value(), 100))));
          EXPECT_TRUE((*appender)->seal());
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(store->find(ChunkId(id)).has_value(), here[ChunkId(id)]) << id;
  put_chunk(*store, ChunkId(9), content_of(9, 100));
  flip_bit(chunk_path(9, store->list().back().directory == 0 ? "a" : "b"), 5);
  EXPECT_FALSE(store->check(ChunkId(9)));
  store->erase(std::array{ChunkId(9), ChunkId(77)});
  EXPECT_EQ(erased[ChunkId(9)], 1) << "set aside";
  EXPECT_EQ(erased[ChunkId(77)], 1) << "never here";
}

TEST_F(ChunkStoreTest, ServesManyThreadsAtOnce) {
  auto options = quiet_options(two(), events_.listener());
  options.scrub_rate = 1u << 30;
  options.scrub_interval = std::chrono::milliseconds(1);
  auto store = open_store(options);
  std::vector<std::thread> threads;
  for (std::uint64_t worker = 0; worker < 4; ++worker) {
    threads.emplace_back([&, worker] {
      Random random(worker);
      for (std::uint64_t i = 0; i < 25; ++i) {
        const ChunkId id(worker * 100 + i + 1);
        expect_content(*store, put_chunk(*store, id, content_of(id.value(), random.below(200'000))));
        if (random.chance(0.5)) store->erase(std::array{id});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const StoredChunk& chunk : store->list()) expect_content(*store, chunk.info);
  EXPECT_TRUE(events_.of(ChunkEvent::corrupt).empty());
  EXPECT_TRUE(events_.of(ChunkEvent::lost).empty());
}

TEST(DamagedChunkTest, WhatItsDiskDoesNotGiveIsNotTakenForDamage) {
  Fd unreadable(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(unreadable.valid());
  EXPECT_EQ(DamagedChunk(std::move(unreadable), {ChunkId(1), 100, 1}).checksums().error().code(), Code::io);
  Fd empty(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(DamagedChunk(std::move(empty), {ChunkId(1), 100, 1}).checksums().error().code(), Code::corrupt);
}

}  // namespace
}  // namespace weft::storage
