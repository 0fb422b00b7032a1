// WordCount as one would write it by hand for this machine: two threads that read pieces of the file into a buffer the second-level
// cache holds, find words with vector instructions, count them in open-addressing tables with the keys inside, add the two threads'
// tables up by halves of the hash, and write one file per half. No engine, no failure handling: what weft is measured against.
//
//   wordcount_limit FILE OUTPUT-DIRECTORY [THREADS]
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/limits/files.hpp"
#include "benchmarks/limits/space_mask.hpp"
#include "benchmarks/limits/word_table.hpp"

namespace limits {
namespace {

constexpr std::size_t kParts = 2;

// ---- counting -----------------------------------------------------------------------------------------------------

/// Words of one kind on their way into their table: looked up some words after the cache line of their slot was asked for.
template <class Word>
class Counter {
 public:
  void add(const Word& word) {
    table_.prefetch(word);
    waiting_[size_++] = word;
  }
  bool full() const { return size_ == kWaiting; }
  template <class Keep>
  void drain(const Keep& keep) {
    for (std::size_t i = 0; i < size_; ++i) table_.add(waiting_[i], 1, keep);
    size_ = 0;
    table_.reserve(kWaiting);
  }
  WordTable<Word>& table() { return table_; }

 private:
  static constexpr std::size_t kWaiting = 32;
  std::array<Word, kWaiting> waiting_;
  std::size_t size_ = 0;
  WordTable<Word> table_ = empty_table();
  static WordTable<Word> empty_table() {
    WordTable<Word> table;
    table.reserve(1 << 15);
    return table;
  }
};

/// Keeps long words after the buffer they came in is read over.
class Arena {
 public:
  LongWord keep(const LongWord& word) {
    if (word.size > blocks_.back().size() - used_) add_block(word.size);
    char* place = blocks_.back().data() + used_;
    std::memcpy(place, word.place, word.size);
    used_ += word.size;
    return {word.hashed, place, word.size};
  }

 private:
  static constexpr std::size_t kBlock = 16 << 20;
  void add_block(std::size_t needed) {
    blocks_.emplace_back(needed > kBlock ? needed : kBlock);
    used_ = 0;
  }
  std::vector<HugeArray<char>> blocks_ = std::vector<HugeArray<char>>(1);
  std::size_t used_ = 0;
};

/// The counts of the words whose hash falls into one part.
struct Part {
  Counter<ShortWord> short_words;
  Counter<MediumWord> medium_words;
  Counter<LongWord> long_words;

  void add_all(Part& other) {
    short_words.table().add_all(other.short_words.table());
    medium_words.table().add_all(other.medium_words.table());
    long_words.table().add_all(other.long_words.table());
  }
};

class WordCounts {
 public:
  void add(const char* p, std::size_t length) {
    if (length <= ShortWord::kMax) {
      add(ShortWord::at(p, length), &Part::short_words);
    } else if (length <= MediumWord::kMax) {
      add(MediumWord::at(p, length), &Part::medium_words);
    } else {
      add(LongWord::at(p, length), &Part::long_words);
    }
  }
  /// Looks up everything that waits.
  void drain() {
    for (Part& part : parts_) {
      part.short_words.drain(kSame);
      part.medium_words.drain(kSame);
      part.long_words.drain([this](const LongWord& word) { return arena_.keep(word); });
    }
  }
  Part& part(std::size_t i) { return parts_[i]; }

 private:
  static constexpr auto kSame = [](const auto& word) { return word; };
  template <class Word>
  void add(const Word& word, Counter<Word> Part::*kind) {
    Counter<Word>& counter = parts_[word.hash() >> 63].*kind;
    counter.add(word);
    if (!counter.full()) return;
    if constexpr (std::is_same_v<Word, LongWord>) {
      counter.drain([this](const LongWord& kept) { return arena_.keep(kept); });
    } else {
      counter.drain(kSame);
    }
  }
  std::array<Part, kParts> parts_;
  Arena arena_;
};

// ---- reading ------------------------------------------------------------------------------------------------------

/// The file in pieces. A word belongs to the piece it starts in.
class Pieces {
 public:
  explicit Pieces(const char* path) : file_(path) {}

  /// The next piece nobody has taken: white space first, whole words, white space last, and readable bytes behind. Empty at the
  /// end.
  std::string_view next(std::vector<char>& buffer) {
    const std::size_t begin = next_.fetch_add(kPiece), size = file_.size();
    if (begin >= size) return {};
    const std::size_t end = std::min(begin + kPiece, size);
    buffer.resize(std::max(buffer.size(), kPiece + 2 * kStep));
    buffer[0] = ' ';
    const std::size_t lead = begin == 0 ? 0 : 1;  // the byte before tells whether the first word started earlier
    file_.read(begin - lead, end - begin + lead, buffer.data() + 1 - lead);
    std::size_t used = end - begin + 1;
    for (std::size_t at = end; at < size && !is_space(buffer[used - 1]);) {  // to the end of the last word
      if (buffer.size() < used + 2 * kStep) buffer.resize(buffer.size() * 2);
      const std::size_t more = std::min(kStep, size - at);
      file_.read(at, more, buffer.data() + used);
      used += std::min(more, length_of_word(buffer.data() + used, more) + 1);
      at += more;
    }
    std::memset(buffer.data() + used, ' ', kStep);
    return skip_first_word({buffer.data(), used + 1});
  }

 private:
  static constexpr std::size_t kPiece = 256 << 10;
  static constexpr std::size_t kStep = 128;
  static std::size_t length_of_word(const char* text, std::size_t bytes) {
    return static_cast<std::size_t>(std::find_if(text, text + bytes, is_space) - text);
  }
  static std::string_view skip_first_word(std::string_view text) { return text.substr(length_of_word(text.data(), text.size())); }
  InputFile file_;
  std::atomic<std::size_t> next_{0};
};

// ---- finding words ------------------------------------------------------------------------------------------------

/// Finds where words start and end, some kilobytes of text at a time: the positions are written out first and used in a second
/// loop, so that no branch depends on how long a word is.
class WordFinder {
 public:
  /// Text as Pieces gives it: it starts and ends with white space.
  template <class Visit>
  void for_each_word(std::string_view text, const Visit& visit) {
    std::uint64_t before = 1;
    std::size_t left = 0;  // 1: a word started and did not end yet; its start is edges_[0]
    for (std::size_t at = 0; at < text.size(); at += 64 * kBlocks) {
      const std::size_t blocks = std::min(kBlocks, (text.size() - at + 63) / 64);
      space_masks_(text.data() + at, blocks, masks_.data());
      const std::size_t edges = find_edges(blocks, at, before, left);
      for (std::size_t i = 0; i + 1 < edges; i += 2) visit(text.data() + edges_[i], std::size_t{edges_[i + 1]} - edges_[i]);
      left = edges % 2;
      if (left != 0) edges_[0] = edges_[edges - 1];
    }
  }

 private:
  static constexpr std::size_t kBlocks = 64;
  /// Appends to the first `size` edges; `before` is 1 when the byte before is white space.
  std::size_t find_edges(std::size_t blocks, std::size_t base, std::uint64_t& before, std::size_t size) {
    for (std::size_t i = 0; i < blocks; ++i, base += 64) {
      const std::uint64_t spaces = masks_[i];
      std::uint64_t changes = spaces ^ (spaces << 1 | before);
      before = spaces >> 63;
      // Eight at a time whether there are as many or not: cheaper than a branch that cannot be predicted.
      const auto count = static_cast<std::size_t>(std::popcount(changes));
      for (std::size_t j = 0; j < count; j += 8) {
        for (std::size_t k = 0; k < 8; ++k) {
          edges_[size + j + k] = static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(std::countr_zero(changes));
          changes &= changes - 1;
        }
      }
      size += count;
    }
    return size;
  }
  SpaceMasks space_masks_ = choose_space_masks();
  std::array<std::uint64_t, kBlocks> masks_;
  std::array<std::uint32_t, 64 * kBlocks + 16> edges_;
};

// ---- the program --------------------------------------------------------------------------------------------------

template <class Word>
void write_line(const Word& word, std::uint64_t count, OutputFile& output) {
  constexpr std::size_t kNumber = 24;
  char* out = output.room(word.length() + kNumber);
  std::memcpy(out, word.text(), word.length());
  out += word.length();
  *out++ = '\t';
  out = std::to_chars(out, out + kNumber, count).ptr;
  *out++ = '\n';
  output.advance(out);
}

void count_pieces(Pieces& pieces, WordCounts& counts) {
  std::vector<char> buffer;
  const auto finder = std::make_unique<WordFinder>();
  for (std::string_view text = pieces.next(buffer); !text.empty(); text = pieces.next(buffer)) {
    finder->for_each_word(text, [&](const char* word, std::size_t length) { counts.add(word, length); });
    counts.drain();  // long words still point into the buffer
  }
}

void merge_and_write(std::size_t part, std::vector<WordCounts>& counts, const std::string& path) {
  Part& sum = counts[0].part(part);
  for (std::size_t i = 1; i < counts.size(); ++i) sum.add_all(counts[i].part(part));
  OutputFile output(path);
  const auto line = [&output](const auto& word, std::uint64_t count) { write_line(word, count, output); };
  sum.short_words.table().for_each(line);
  sum.medium_words.table().for_each(line);
  sum.long_words.table().for_each(line);
}

}  // namespace
}  // namespace limits

int main(int argc, char** argv) {
  using namespace limits;
  if (argc < 3) return std::fprintf(stderr, "usage: wordcount_limit FILE OUTPUT-DIRECTORY [THREADS]\n"), 2;
  const std::size_t threads = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 2;
  Pieces pieces(argv[1]);
  std::vector<WordCounts> counts(threads);
  in_parallel(threads, threads, [&](std::size_t i) { count_pieces(pieces, counts[i]); });
  in_parallel(threads, kParts, [&](std::size_t part) { merge_and_write(part, counts, part_path(argv[2], part)); });
  std::_Exit(0);  // giving the tables back page by page would only cost time
}
