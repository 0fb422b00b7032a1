// Writes text for the WordCount benchmarks: words drawn from a Zipf distribution over a vocabulary, ten to a line.
//
//   zipf_text BYTES FILE [VOCABULARY [EXPONENT [SEED [HOT]]]]     HOT: the share of all words (0 to 1) that are one extra word
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "benchmarks/data/file_writer.hpp"
#include "benchmarks/data/random.hpp"

namespace {

using weft::bench::FileWriter;
using weft::bench::Random;

/// Draws ranks with Walker's alias method in Vose's form (IEEE Trans. Software Eng. 17(9), 1991): one look-up per word.
class Zipf {
 public:
  Zipf(std::size_t words, double exponent) : columns_(words) {
    std::vector<double> share(words);
    double sum = 0;
    for (std::size_t i = 0; i < words; ++i) sum += share[i] = 1 / std::pow(static_cast<double>(i + 1), exponent);
    std::vector<std::uint32_t> small, large;
    for (std::uint32_t i = 0; i < words; ++i) {
      share[i] *= static_cast<double>(words) / sum;
      (share[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      const std::uint32_t poor = small.back(), rich = large.back();
      small.pop_back();
      columns_[poor] = {static_cast<float>(share[poor]), rich};
      share[rich] -= 1 - share[poor];
      if (share[rich] >= 1) continue;
      large.pop_back();
      small.push_back(rich);
    }
    for (const auto* rest : {&small, &large})
      for (const std::uint32_t i : *rest) columns_[i] = {1, i};
  }
  /// Draws as many ranks as there are places in two passes, so that the memory accesses of many words overlap.
  template <std::size_t kRanks>
  void draw(Random& random, std::array<std::uint32_t, kRanks>& ranks) const {
    std::array<std::uint64_t, kRanks> bits;
    for (std::uint64_t& drawn : bits) __builtin_prefetch(&columns_[column_of(drawn = random.next())]);
    for (std::size_t i = 0; i < kRanks; ++i) {
      const std::uint32_t column = column_of(bits[i]);
      const float coin = static_cast<float>(bits[i] & 0xFFFFFF) * 0x1p-24F;
      ranks[i] = coin < columns_[column].own ? column : columns_[column].alias;
    }
  }

 private:
  struct Column {
    float own = 1;  // share of the column that belongs to its own rank; the rest is the alias's
    std::uint32_t alias = 0;
  };
  std::uint32_t column_of(std::uint64_t bits) const { return static_cast<std::uint32_t>((bits >> 32) * columns_.size() >> 32); }
  std::vector<Column> columns_;
};

/// A word and its length in sixteen bytes: copied whole, advanced by the length.
struct Word {
  char text[15];
  std::uint8_t length;
};

/// A word for each rank: letters from a mixed number, so that frequent words are not all alike. Frequent ones are shorter.
Word word_of(std::size_t rank) {
  std::uint64_t mixed = (rank + 1) * 0x9E3779B97F4A7C15ULL;
  std::string word;
  std::size_t rest = rank;
  do {
    word += static_cast<char>('a' + (rest + (mixed & 15)) % 26);
    mixed >>= 4;
    rest /= 26;
  } while (rest > 0 || word.size() < 3);
  word += std::to_string(rank % 10);
  Word result{};
  result.length = static_cast<std::uint8_t>(word.size());
  std::memcpy(result.text, word.data(), word.size());
  return result;
}

void write_text(std::uint64_t bytes, const Zipf& zipf, const std::vector<Word>& words, double hot, Random& random,
                FileWriter& file) {
  const Word hot_word{"hotspot", 7};
  std::array<std::uint32_t, 64> ranks;
  for (std::uint64_t n = 0; file.bytes() < bytes;) {
    zipf.draw(random, ranks);
    for (const std::uint32_t rank : ranks) __builtin_prefetch(&words[rank]);
    for (const std::uint32_t rank : ranks) {
      const Word& word = hot > 0 && random.uniform() < hot ? hot_word : words[rank];
      char* out = file.room(sizeof(Word) + 1);
      std::memcpy(out, &word, sizeof word);
      out[word.length] = ++n % 10 == 0 ? '\n' : ' ';
      file.advance(word.length + std::size_t{1});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: zipf_text BYTES FILE [VOCABULARY [EXPONENT [SEED [HOT]]]]\n");
    return 2;
  }
  const std::uint64_t bytes = std::strtoull(argv[1], nullptr, 10);
  const std::size_t vocabulary = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1'000'000;
  const double exponent = argc > 4 ? std::strtod(argv[4], nullptr) : 1.0;
  Random random(argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 1);
  const double hot = argc > 6 ? std::strtod(argv[6], nullptr) : 0;

  std::vector<Word> words;
  for (std::size_t i = 0; i < vocabulary; ++i) words.push_back(word_of(i));
  FileWriter file(argv[2]);
  write_text(bytes, Zipf(vocabulary, exponent), words, hot, random, file);
  return 0;
}
