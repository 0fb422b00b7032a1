// WordCount as one would write it by hand for this machine: two threads, mapped input, open addressing with keys left in the
// input, tables merged by hash halves, one direct write. No engine, no failure handling: the limit that weft is measured against.
//
//   wordcount_limit FILE OUTPUT [THREADS]
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

/// A word with its first eight bytes at hand: words up to that length are compared without touching the text.
struct Word {
  std::uint64_t prefix;
  const char* text;
  std::uint32_t length;
  std::uint32_t hash;
};

struct Slot {
  Word word{};
  std::uint64_t count = 0;
};

__extension__ using Wide = unsigned __int128;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// `readable` bytes may be read at p (for the single wide load).
Word make_word(const char* p, std::size_t length, std::size_t readable) {
  std::uint64_t prefix = 0;
  if (readable >= 8) {
    std::memcpy(&prefix, p, 8);
    if (length < 8) prefix &= (std::uint64_t{1} << (8 * length)) - 1;
  } else {
    std::memcpy(&prefix, p, std::min<std::size_t>(length, 8));
  }
  std::uint64_t hash = mix(prefix ^ 0x9E3779B97F4A7C15ULL, 0xE7037ED1A0B428DBULL + length);
  for (std::size_t i = 8; i < length; i += 8) {
    std::uint64_t next = 0;
    std::memcpy(&next, p + i, std::min<std::size_t>(length - i, 8));
    hash = mix(hash ^ next, 0x8EBC6AF09C88C6E3ULL);
  }
  return {prefix, p, static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(hash >> 17)};
}

bool same(const Word& a, const Word& b) {
  return a.prefix == b.prefix && a.length == b.length && (a.length <= 8 || std::memcmp(a.text + 8, b.text + 8, a.length - 8) == 0);
}

class Table {
 public:
  Table() : slots_(1 << 16) {}
  void prefetch(const Word& word) const { __builtin_prefetch(&slots_[word.hash & (slots_.size() - 1)]); }
  void add(const Word& word, std::uint64_t count) {
    std::size_t i = word.hash & (slots_.size() - 1);
    for (; slots_[i].count != 0; i = (i + 1) & (slots_.size() - 1)) {
      if (!same(slots_[i].word, word)) continue;
      slots_[i].count += count;
      return;
    }
    slots_[i] = {word, count};
    if (++used_ * 2 > slots_.size()) grow();
  }
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  void grow() {
    std::vector<Slot> old(slots_.size() * 4);
    ::madvise(old.data(), old.size() * sizeof(Slot), MADV_HUGEPAGE);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.count == 0) continue;
      std::size_t i = slot.word.hash & (slots_.size() - 1);
      while (slots_[i].count != 0) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Words wait in a short queue while the cache lines of their slots arrive.
void count(const char* p, const char* end, const char* readable_end, Table& table) {
  constexpr std::size_t kQueue = 32;
  Word queue[kQueue];
  std::size_t n = 0;
  while (true) {
    while (p < end && is_space(*p)) ++p;
    if (p == end) break;
    const char* start = p;
    while (p < end && !is_space(*p)) ++p;
    Word& next = queue[n % kQueue];
    if (n >= kQueue) table.add(next, 1);
    next = make_word(start, static_cast<std::size_t>(p - start), static_cast<std::size_t>(readable_end - start));
    table.prefetch(next);
    ++n;
  }
  for (std::size_t i = n < kQueue ? 0 : n - kQueue; i < n; ++i) table.add(queue[i % kQueue], 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: wordcount_limit FILE OUTPUT [THREADS]\n"), 2;
  const std::size_t threads = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 2;
  const int in = ::open(argv[1], O_RDONLY);
  struct stat info {};
  if (in < 0 || ::fstat(in, &info) != 0) return std::perror(argv[1]), 1;
  const auto size = static_cast<std::size_t>(info.st_size);
  const char* text = static_cast<const char*>(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, in, 0));
  if (text == MAP_FAILED) return std::perror("mmap"), 1;

  std::vector<std::size_t> cuts(threads + 1, size);
  cuts[0] = 0;
  for (std::size_t i = 1; i < threads; ++i) {
    std::size_t cut = size / threads * i;
    while (cut < size && !is_space(text[cut])) ++cut;
    cuts[i] = cut;
  }
  std::vector<Table> local(threads);
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < threads; ++i)
    workers.emplace_back([&, i] { count(text + cuts[i], text + cuts[i + 1], text + size, local[i]); });
  for (auto& worker : workers) worker.join();
  workers.clear();

  std::vector<std::string> outputs(threads);
  for (std::size_t part = 0; part < threads; ++part) {
    workers.emplace_back([&, part] {
      Table merged;
      for (const Table& table : local)
        for (const Slot& slot : table.slots())
          if (slot.count != 0 && (slot.word.hash >> 24) % threads == part) merged.add(slot.word, slot.count);
      std::string& output = outputs[part];
      for (const Slot& slot : merged.slots()) {
        if (slot.count == 0) continue;
        char number[24];
        const auto end = std::to_chars(number, number + sizeof number, slot.count).ptr;
        output.append(slot.word.text, slot.word.length).append(1, '\t').append(number, end).append(1, '\n');
      }
    });
  }
  for (auto& worker : workers) worker.join();

  std::FILE* out = std::fopen(argv[2], "wb");
  if (out == nullptr) return std::perror(argv[2]), 1;
  for (const std::string& output : outputs) std::fwrite(output.data(), 1, output.size(), out);
  return std::fclose(out) == 0 ? 0 : 1;
}
