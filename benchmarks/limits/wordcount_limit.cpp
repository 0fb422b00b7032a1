// WordCount as one would write it by hand for this machine: two threads, mapped input, open addressing with keys left in the
// input, tables merged by hash halves, one direct write. No engine, no failure handling: the limit that weft is measured against.
//
//   wordcount_limit FILE OUTPUT [THREADS]
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Slot {
  const char* word = nullptr;
  std::uint32_t length = 0;
  std::uint32_t tag = 0;
  std::uint64_t count = 0;
};

std::uint64_t load_up_to_8(const char* p, std::size_t n) {
  std::uint64_t value = 0;
  std::memcpy(&value, p, n);
  return value;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ 0x9E3779B97F4A7C15ULL) * (b ^ 0xE7037ED1A0B428DBULL);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_word(const char* p, std::size_t n) {
  std::uint64_t h = n;
  for (; n > 8; p += 8, n -= 8) h = mix(h, load_up_to_8(p, 8));
  return mix(h, load_up_to_8(p, n));
}

class Table {
 public:
  Table() : slots_(1 << 16) {}
  void add(const char* word, std::uint32_t length, std::uint64_t hash, std::uint64_t count) {
    const auto tag = static_cast<std::uint32_t>(hash);
    std::size_t i = (hash >> 32) & (slots_.size() - 1);
    while (true) {
      Slot& slot = slots_[i];
      if (slot.word == nullptr) break;
      if (slot.tag == tag && slot.length == length && std::memcmp(slot.word, word, length) == 0) {
        slot.count += count;
        return;
      }
      i = (i + 1) & (slots_.size() - 1);
    }
    slots_[i] = {word, length, tag, count};
    if (++used_ * 2 > slots_.size()) grow();
  }
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  void grow() {
    std::vector<Slot> old(slots_.size() * 4);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.word == nullptr) continue;
      std::size_t i = (hash_word(slot.word, slot.length) >> 32) & (slots_.size() - 1);
      while (slots_[i].word != nullptr) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

void count(const char* p, const char* end, Table& table) {
  while (true) {
    while (p < end && is_space(*p)) ++p;
    if (p == end) return;
    const char* word = p;
    while (p < end && !is_space(*p)) ++p;
    const auto length = static_cast<std::size_t>(p - word);
    table.add(word, static_cast<std::uint32_t>(length), hash_word(word, length), 1);
  }
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
    workers.emplace_back([&, i] { count(text + cuts[i], text + cuts[i + 1], local[i]); });
  for (auto& worker : workers) worker.join();
  workers.clear();

  std::vector<std::string> outputs(threads);
  for (std::size_t part = 0; part < threads; ++part) {
    workers.emplace_back([&, part] {
      Table merged;
      for (const Table& table : local)
        for (const Slot& slot : table.slots())
          if (slot.word != nullptr && slot.tag % threads == part)
            merged.add(slot.word, slot.length, hash_word(slot.word, slot.length), slot.count);
      std::string& output = outputs[part];
      for (const Slot& slot : merged.slots()) {
        if (slot.word == nullptr) continue;
        char number[24];
        const auto end = std::to_chars(number, number + sizeof number, slot.count).ptr;
        output.append(slot.word, slot.length).append(1, '\t').append(number, end).append(1, '\n');
      }
    });
  }
  for (auto& worker : workers) worker.join();

  std::FILE* out = std::fopen(argv[2], "wb");
  if (out == nullptr) return std::perror(argv[2]), 1;
  for (const std::string& output : outputs) std::fwrite(output.data(), 1, output.size(), out);
  return std::fclose(out) == 0 ? 0 : 1;
}
